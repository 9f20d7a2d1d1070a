"""Graphviz itself draws what `bomgen wiring -f dot` writes."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bomgen.output.wiring.graphs import MOST_DEVICES

CHECKOUT = Path(__file__).parents[2]
PLANS = ("llama65b", "gb300-nvl72-spectrum")
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def drawings(tmp_path_factory) -> dict[str, Path]:
    """The cables of plans, and of a cluster of eight servers, as a Graphviz file each."""
    place = tmp_path_factory.mktemp("drawings")
    few = place / "few.yaml"
    few.write_text(
        "bomgen: 1\nname: few\ncluster: {gpu: h100-sxm, servers: 8}\nfabrics: {compute: {switch: qm9700}}\n", "utf-8"
    )
    found = {}
    for plan in (few, *(CHECKOUT / "plans" / f"{name}.yaml" for name in PLANS)):
        found[plan.stem] = place / f"{plan.stem}.dot"
        command = [
            sys.executable,
            "-m",
            "bomgen",
            "wiring",
            plan,
            "-f",
            "dot",
            "-o",
            found[plan.stem],
            "--root",
            "/",
        ]
        done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=CHECKOUT)
        assert done.returncode == 0, done.stderr
    return found


def _words(group: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()).strip() for text in group.iter(f"{SVG}text")]


def test_graphviz_draws_every_device_and_edge(drawings, judge, run):
    """Graphviz accepts every graph without a warning, draws every node and edge, and each edge's links and rate."""
    dot = judge("dot")
    for name, path in drawings.items():
        done = run(dot, "-Tsvg", path)
        assert done.returncode == 0, f"{name}: {done.stderr}"
        assert "Warning:" not in done.stderr, f"{name}: {done.stderr}"
        groups = list(ElementTree.fromstring(done.stdout).iter(f"{SVG}g"))  # noqa: S314 - drawn from our own graph
        nodes = [group for group in groups if group.attrib.get("class") == "node"]
        edges = [group for group in groups if group.attrib.get("class") == "edge"]
        lines = path.read_text("utf-8").splitlines()
        assert len(edges) == sum(" -- " in line for line in lines), name
        assert len(nodes) == sum(bool(re.match(r'\s*"[^"]*" \[label=', line)) for line in lines), name
        assert 2 <= len(nodes) <= MOST_DEVICES, name
        for edge in edges if "tooltip" not in path.read_text("utf-8") else ():
            assert any(re.search(r"\d × \d+ Gb/s$", word) for word in _words(edge)), name


def test_graphviz_notices_a_broken_graph(judge, run, tmp_path):
    """A graph with a name that is not quoted is refused, so that accepting one means something."""
    broken = tmp_path / "broken.dot"
    broken.write_text('graph "x" { a b" -- c; }', encoding="utf-8")
    assert run(judge("dot"), "-Tsvg", broken).returncode != 0
