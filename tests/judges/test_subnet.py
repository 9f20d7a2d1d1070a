"""The exported InfiniBand fabrics in a simulator: OpenSM routes them as fat trees, and refuses wrong cables."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from depth import DEEP
from processor import PATIENCE

from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import open_plan

CHECKOUT = Path(__file__).parents[2]
TREES = ("superpod-h100-4su", "superpod-a100-140") if DEEP else ("superpod-h100-4su",)
"""Rails in two tiers, and three tiers."""
SIMULATED = "/usr/lib/*/umad2sim/libumad2sim.so"
READY = "Network simulator ready"
IDENTIFIED = "Fabric topology has been identified as FatTree"
ROUTED = "ftree tables configured on all switches"
COUNT = """
set fabric [new_IBFabric]
puts "PARSED [IBFabric_parseTopology $fabric wiring.topo]"
set nodes 0
set ends 0
foreach pair [IBFabric_NodeByName_get $fabric] {
  incr nodes
  foreach port [IBNode_Ports_get [lindex $pair 1]] {
    if {[IBPort_p_remotePort_get $port] != ""} { incr ends }
  }
}
puts "NODES $nodes ENDS $ends"
exit
"""

Port = tuple[str, str]


def _exported(plan: str, form: str, out: Path) -> Path:
    """The compute fabric of a plan as the command writes it."""
    command = [sys.executable, "-m", "bomgen", "wiring", f"plans/{plan}.yaml", "-f", form, "-o", str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=CHECKOUT)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def nets(tmp_path_factory) -> dict[str, Path]:
    """The compute fabrics for the simulator."""
    place = tmp_path_factory.mktemp("nets")
    return {plan: _exported(plan, "ibnet", place / f"{plan}.net") for plan in TREES}


class Subnet(NamedTuple):
    """A simulated fabric, and how programs talk to it."""

    place: Path
    environment: dict[str, str]
    warnings: list[str]


@contextmanager
def _simulated(net: Path, place: Path, judge: Callable[[str], Path]) -> Iterator[Subnet]:
    """The fabric of a file in ibsim, as long as the context lasts."""
    judge("ibsim")
    library = next(Path("/").glob(SIMULATED[1:]), None)
    assert library, f"ibsim is installed without {SIMULATED}"
    text = net.read_text("utf-8")
    nodes = re.findall(r'^(Switch|Ca)\t(\d+) "([^"]+)"', text, re.MULTILINE)
    switches = sum(kind == "Switch" for kind, _, _ in nodes)
    ports = sum(int(count) + 1 for _, count, _ in nodes)
    place.mkdir(exist_ok=True)
    environment = {**os.environ, "IBSIM_SOCKNAME": f"bomgen{os.getpid()}-{place.name}"}
    limits = [f"-N{len(nodes) + 8}", f"-S{switches + 8}", f"-P{ports + 256}"]
    log = place / "ibsim.log"
    with log.open("wb") as out:
        simulator = subprocess.Popen(
            ["ibsim", "-s", "-n", *limits, str(net)], stdout=out, stderr=subprocess.STDOUT, env=environment, cwd=place
        )
    try:
        deadline = time.monotonic() + PATIENCE
        while READY not in (said := log.read_text("utf-8", "replace")):
            assert simulator.poll() is None, said[-2000:]
            assert time.monotonic() < deadline, said[-2000:]
            time.sleep(0.02)
        host = next(name for kind, _, name in nodes if kind == "Ca")
        folders = {"OSM_TMP_DIR": str(place), "OSM_CACHE_DIR": str(place)}
        preload = {"LD_PRELOAD": str(library), "SIM_HOST": host}
        warned = [line for line in said.splitlines() if "warn" in line.lower() or "cannot parse" in line]
        yield Subnet(place, {**environment, **preload, **folders}, warned)
    finally:
        simulator.terminate()
        simulator.wait()


def _routed(subnet: Subnet, judge: Callable[[str], Path], engine: str = "ftree") -> str:
    """What OpenSM's log says of routing a simulated fabric, as a fat tree unless said otherwise."""
    log = subnet.place / "opensm.log"
    command = [judge("opensm"), "-R", engine, "-o", "-e", "-f", log, "-D", "0x47"]
    subprocess.run(
        command, env=subnet.environment, cwd=subnet.place, capture_output=True, check=False, timeout=PATIENCE
    )
    return log.read_text("utf-8", "replace")


@pytest.mark.parametrize("homing", ["single", "dual", "rails"])
def test_opensm_routes_a_mesh(homing, judge, tmp_path):
    """Every machine of a mesh of four switches gets its route, whichever switches its ports are plugged into."""
    (tmp_path / "mesh.yaml").write_text(
        "bomgen: 1\nname: mesh\ncluster: {gpu: h100-sxm, servers: 8}\nfabrics:\n"
        "  compute: {topology: mesh, switch: qm9700, "
        f"mesh: {{switches: 4}}, homing: {homing}, oversubscription: 2}}\n",
        "utf-8",
    )
    net = _exported(os.path.relpath(tmp_path / "mesh", CHECKOUT / "plans"), "ibnet", tmp_path / "mesh.net")
    with _simulated(net, tmp_path / homing, judge) as subnet:
        assert subnet.warnings == []
        assert "minhop tables configured on all switches" in _routed(subnet, judge, "minhop")


@pytest.mark.parametrize(
    "fabric",
    [
        "topology: fat-tree, switch: qm9700, homing: dual",
        "topology: rail-optimized, switch: qm9700, tiers: 2, rails_per_leaf: 4",
    ],
    ids=["dual-homed", "shared rails"],
)
def test_opensm_routes_machines_on_several_leaves(fabric, judge, tmp_path):
    """Dual-homed machines, and rails that share leaves, are a fat tree to the subnet manager."""
    text = "bomgen: 1\nname: leaves\ncluster: {gpu: h100-sxm, servers: 8}\nfabrics:\n"
    (tmp_path / "leaves.yaml").write_text(f"{text}  compute: {{{fabric}}}\n", "utf-8")
    net = _exported(os.path.relpath(tmp_path / "leaves", CHECKOUT / "plans"), "ibnet", tmp_path / "leaves.net")
    with _simulated(net, tmp_path / "subnet", judge) as subnet:
        assert subnet.warnings == []
        log = _routed(subnet, judge)
        assert IDENTIFIED in log
        assert ROUTED in log


@pytest.mark.parametrize("tree", TREES)
def test_opensm_routes_the_fabric_as_a_fat_tree(tree, nets, judge, tmp_path):
    """Ibsim reads every node, OpenSM calls it a fat tree and routes it, and a scan finds nodes and links again."""
    with _simulated(nets[tree], tmp_path / tree, judge) as subnet:
        assert subnet.warnings == []
        log = _routed(subnet, judge)
        assert IDENTIFIED in log
        assert ROUTED in log
        found = subprocess.run(
            [judge("ibnetdiscover")],
            env=subnet.environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE,
        ).stdout
    written = nets[tree].read_text("utf-8")
    guid = re.compile(r"^(?:switchguid|caguid)=0x([0-9a-f]+)", re.MULTILINE)
    assert sorted(int(each, 16) for each in guid.findall(found)) == sorted(
        int(each, 16) for each in guid.findall(written)
    )
    report = work_out(open_plan(str(CHECKOUT / "plans" / f"{tree}.yaml"), None))
    assert sum(line.startswith("[") for line in found.splitlines()) == 2 * len(list_cables(report, ("compute",)))


def _ends(text: str) -> dict[Port, Port]:
    """Where every port leads."""
    ends, node = {}, ""
    for line in text.splitlines():
        if header := re.match(r'(?:Switch|Ca)\t\d+ "([^"]+)"', line):
            node = header[1]
        elif link := re.match(r'\[(\d+)\]\t"([^"]+)"\[(\d+)\]', line):
            ends[node, link[1]] = (link[2], link[3])
    return ends


def _recabled(text: str, ends: dict[Port, Port | None]) -> str:
    """A fabric with some ports leading elsewhere, or nowhere."""
    lines, node = [], ""
    for line in text.splitlines():
        if header := re.match(r'(?:Switch|Ca)\t\d+ "([^"]+)"', line):
            node = header[1]
        link = re.match(r"\[(\d+)\]", line)
        if link and (node, link[1]) in ends:
            peer = ends[node, link[1]]
            if peer is None:
                continue
            line = re.sub(r'"[^"]+"\[\d+\]', f'"{peer[0]}"[{peer[1]}]', line, count=1)
        lines.append(line)
    return "\n".join([*lines, ""])


def _up(ends: dict[Port, Port], leaf: str) -> list[tuple[Port, Port]]:
    return sorted((own, peer) for own, peer in ends.items() if own[0] == leaf and "spine" in peer[0])


def test_opensm_refuses_two_uplinks_that_are_swapped(nets, judge, tmp_path):
    """Two leaves' uplinks to different spines change places: no fat tree any more."""
    text = nets[TREES[0]].read_text("utf-8")
    ends = _ends(text)
    (one, spine), (other, last) = _up(ends, "compute-leaf-01")[0], _up(ends, "compute-leaf-02")[-1]
    assert spine[0] != last[0]
    wrong = tmp_path / "swapped.net"
    wrong.write_text(_recabled(text, {one: last, last: one, other: spine, spine: other}), encoding="utf-8")
    with _simulated(wrong, tmp_path / "swapped", judge) as subnet:
        log = _routed(subnet, judge)
    assert ROUTED not in log
    assert re.search("ERR AB", log)


def test_opensm_refuses_a_missing_uplink(nets, judge, tmp_path):
    """A leaf with an uplink less than its neighbours: no fat tree any more."""
    text = nets[TREES[0]].read_text("utf-8")
    one, spine = _up(_ends(text), "compute-leaf-01")[0]
    wrong = tmp_path / "missing.net"
    wrong.write_text(_recabled(text, {one: None, spine: None}), encoding="utf-8")
    with _simulated(wrong, tmp_path / "missing", judge) as subnet:
        log = _routed(subnet, judge)
    assert ROUTED not in log
    assert re.search("ERR AB", log)


def _counted(program, folder):
    """What ibdm says of the topology that lies in a folder, and how much it counts there."""
    (folder / "count.tcl").write_text(COUNT, encoding="utf-8")
    done = subprocess.run(
        [program, "count.tcl"],
        env={**os.environ, "IBDM_IBNL_PATH": str(folder)},
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("tree", TREES)
def test_ibdm_reads_the_topology(tree, judge, tmp_path):
    """Ibdm parses topology and systems without a complaint, and has the nodes and links of the wiring."""
    program = judge("ibdmsh")
    topology = _exported(tree, "topo", tmp_path / "wiring.topo")
    # ibdm 1.5.7 knows no lane faster than 10 Gb/s, and ignores links that have one.
    topology.write_text(re.sub(r"-4x-[0-9.]+G->", "-4x->", topology.read_text("utf-8")), "utf-8")
    said = _counted(program, tmp_path)
    assert re.findall(r"^-[EW]-.*", said, re.MULTILINE) == []
    assert "PARSED 0" in said
    wiring = list_cables(work_out(open_plan(str(CHECKOUT / "plans" / f"{tree}.yaml"), None)), ("compute",))
    links, switches = len(wiring), len(set(wiring.b_device.tolist()) | set(wiring.a_device.tolist()))
    servers = {device for device in wiring.a_device.tolist() if wiring.kind_of(device).device == "server"}
    nics = {(device, port) for device, port in zip(wiring.a_device.tolist(), wiring.a_port.tolist(), strict=True)}
    nodes = switches - len(servers) + sum(device in servers for device, _ in nics)
    assert f"NODES {nodes} ENDS {2 * links}" in said


def test_ibdm_notices_a_port_that_is_not_there(judge, tmp_path):
    """A cable to a port that its system does not have is complained of, so that silence means something."""
    program = judge("ibdmsh")
    topology = _exported(TREES[0], "topo", tmp_path / "wiring.topo")
    text = re.sub(r"-4x-[0-9.]+G->", "-4x->", topology.read_text("utf-8"))
    topology.write_text(text.replace("compute-leaf-01 P1/1\n", "compute-leaf-01 P99/1\n"))
    assert re.search(r"^-[EW]-", _counted(program, tmp_path), re.MULTILINE)
