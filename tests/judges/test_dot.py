"""Graphviz itself draws what `-f dot` writes."""

from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

from bomgen.output.drawing.graphviz import MOST_EDGES, MOST_SWITCHES

CHECKOUT = Path(__file__).parents[2]
PLANS = sorted((CHECKOUT / "plans").glob("*.yaml"))
SVG = "{http://www.w3.org/2000/svg}"
SIZES = {"few": 8, "some": 160, "many": 2048, "most": 8192}
"""Servers of clusters that no plan of the checkout has."""


@pytest.fixture(scope="module")
def drawings(tmp_path_factory) -> dict[str, Path]:
    """Every fabric of every plan, and of clusters of other sizes, as a Graphviz file."""
    place = tmp_path_factory.mktemp("drawings")
    for name, servers in SIZES.items():
        text = f"bomgen: 1\nname: {name}\ncluster: {{gpu: h100-sxm, servers: {servers}}}\n"
        language = "quote: {language: zh}\n" if name == "most" else ""
        text += f"fabrics: {{compute: {{switch: qm9700}}}}\n{language}"
        (place / f"{name}.yaml").write_text(text, encoding="utf-8")
    plans = [*PLANS, *sorted(place.glob("*.yaml"))]
    command = [sys.executable, "-m", "bomgen.cli", "build", *plans, "-f", "dot", "-o", place / "out", "--root", "/"]
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    found = {f"{path.parent.name} {path.stem}": path for path in sorted((place / "out").rglob("*.dot"))}
    assert {f"{name} fabric-compute" for name in SIZES} < set(found)
    return found


def _words(group: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()).strip() for text in group.iter(f"{SVG}text")]


def test_graphviz_draws_every_fabric(drawings, judge, run):
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
        assert 2 <= len(nodes) <= MOST_SWITCHES + 1, name
        assert 1 <= len(edges) <= MOST_EDGES, name
        for edge in edges:
            assert any(re.search(r"\d × \d+ Gb/s$", word) for word in _words(edge)), name


def test_small_fabrics_show_every_switch(drawings, judge, run):
    """The fabric of eight servers is one switch with its number and all its links."""
    drawn = run(judge("dot"), "-Tsvg", drawings["few fabric-compute"]).stdout
    assert "Leaf 1" in drawn
    assert "64 × 400 Gb/s" in drawn


def test_graphviz_notices_a_broken_graph(judge, run, tmp_path):
    """A graph with a name that is not quoted is refused, so that accepting one means something."""
    broken = tmp_path / "broken.dot"
    broken.write_text('graph "x" { a b" -- c; }', encoding="utf-8")
    assert run(judge("dot"), "-Tsvg", broken).returncode != 0
