"""Peers beside bomgen: the same work, by programs of others, each in an environment of its own, and by bomgen.

A peer's script in peers/ reads what is asked of it on its standard input and prints its version, what importing took,
and its result. What both results have is compared.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from math import isclose
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from measuring import BOMGEN, CHECKOUT, Failed, run
from results import Result

from bomgen.catalog.files import Catalog

sys.path.append(str(CHECKOUT / "tools" / "fit"))
from training_rows import MeasuredStep, read

SCRIPTS = CHECKOUT / "benchmarks" / "peers"
NAMES = {
    "wireviz": "WireViz",
    "infragraph": "InfraGraph",
    "pyavd": "pyavd",
    "llm-analysis": "llm-analysis",
    "calculon": "Calculon",
}
RUNS, ENOUGH = 3, 30
"""Runs of a work by both in turns, and the seconds of a peer after which no more are begun."""
MOST = 300
"""Seconds after which a program is stopped."""
CLOSE = 1e-4
"""Relative difference up to which two figures are equal; beyond, the page says why."""
LARGE, WHOLE = 1e8, 1e4
"""From where on figures are shown in thousands of millions, and without decimals."""
IMPORTS = "import time; start = time.perf_counter(); import bomgen.cli.command, {}; print(time.perf_counter() - start)"

HARNESS = """
bomgen: 1
name: harness
cluster: {gpu: h100-sxm, gpus: GPUS}
fabrics: {compute: {topology: fat-tree, switch: qm9700, tiers: 2}}
"""
TREE = """
bomgen: 1
name: tree
cluster: {gpu: h100-sxm, gpus: GPUS}
fabrics:
  compute:
    topology: fat-tree
    switch: {name: Switch, ports: PORTS, port_gbps: 400, protocol: infiniband, cage: osfp, rack_units: 1}
    tiers: TIERS
    links:
      server-leaf: {medium: transceiver, module: generic-400g}
      leaf-spine: {medium: transceiver, module: generic-400g}
      spine-core: {medium: transceiver, module: generic-400g}
"""
ROUTED = """
bomgen: 1
name: routed
cluster: {gpu: h100-sxm, gpus: GPUS}
fabrics: {compute: {topology: fat-tree, switch: SWITCH, tiers: 2}}
"""
RUN = """
bomgen: 1
name: run
workload:
  training:
    model: {name: LLaMA-65B, layers: 80, hidden: 8192, heads: 64, ffn: 32768, mlp: plain, vocab: 32000, tied: true}
    tokens: 1.4T
    mfu: 50%
    attention: full
    sequence: 2048
    batch_tokens: 524288
    gradient_precision: fp32
    zero: 1
    flash_attention: true
    recompute: none
    parallelism: {tensor: 8, sequence_parallel: true}
cluster: {gpu: a100-sxm-80, server: dgx-a100-640, gpus: 2048}
"""
ASKED = {
    "gpus": 2048,
    "tensor": 8,
    "tokens": 1.4e12,
    "sequence": 2048,
    "micro_batches": 1,
    "efficiency": 0.5,
    "zero": 1,
}
SIZES = range(33, 2033)
"""Servers of the clusters that are compared by days; on fewer the model does not fit by the peer's account."""
MEASURED = (("vtrain-multi", "vtrain-single"), ("selene-2021",), ("selene-2022",))
"""Clusters whose rows the peers can run, all dense on A100 of 80 GB; those of a group are predicted by a fit that has
seen none of the group."""
SWITCH = "7060dx5-64s"
HARNESSES = (32, 128, 512)
"""GPUs of the plans whose cables are documented: 64, 256 and 1024 cables."""
TREES = ((16, 2), (32, 2), (16, 3))
"""Ports and tiers of full fat trees."""
NICS = 8
"""NICs of a server."""
FABRICS = (256, 1024, 2048)
"""GPUs of the leaf-spine fabrics."""


class Pair(NamedTuple):
    """A work of both: the size in words, what is asked of the peer, bomgen's commands, and how results are read."""

    peer: str
    work: str
    size: str
    asked: Mapping[str, Any]
    ours: tuple[tuple[tuple[str, ...], str], ...]
    """Commands one after the other, with what is on their standard input."""
    result: Callable[[], dict[str, Any]]
    imports: str = "bomgen.workflow.pipeline"
    theirs: Callable[[], dict[str, Any]] = dict
    """What is counted of the peer's output beside what it says itself."""


def compared(environments: Path, folder: Path) -> list[dict[str, Any]]:
    """Every work of every peer, by it and by bomgen. A peer that is not in its environment has failed."""
    found = []
    for name in NAMES:
        python = environments.resolve() / name / "bin" / "python"
        command = (str(python), "-P", str(SCRIPTS / f"{name}.py"))
        for pair in _PAIRS[name](folder, command):
            found.append(_both(pair, command))
            print(f"{pair.peer}, {pair.work}, {pair.size}: {found[-1]['theirs']['seconds']}", file=sys.stderr)
    return found


def _both(pair: Pair, command: tuple[str, ...]) -> dict[str, Any]:
    version, failed, runs, ours_runs, imports = "", None, [], [], []
    while len(runs) < RUNS and sum(each.seconds for each in runs) < ENOUGH and not failed:
        try:
            runs.append(run(command, json.dumps(pair.asked), MOST))
        except Failed as error:
            failed = str(error)
        ours_runs.append([run(words, given, MOST) for words, given in pair.ours])
        imports.append(float(run([sys.executable, "-c", IMPORTS.format(pair.imports)]).said))
    theirs = _side(None, None, None, failed=failed)
    if not failed:
        said = [json.loads(each.said) for each in runs]
        version = said[0]["version"]
        theirs = _side(
            median(one.get("seconds", each.seconds) for one, each in zip(said, runs, strict=True)),
            median(one["import_seconds"] for one in said),
            max(each.gib for each in runs),
            said[0]["result"] | pair.theirs(),
        )
    ours = _side(
        median(sum(each.seconds for each in turn) for turn in ours_runs),
        median(imports),
        max(each.gib for turn in ours_runs for each in turn),
        pair.result(),
    )
    equal, differ = judged(theirs["result"], ours["result"])
    return {
        "peer": NAMES[pair.peer],
        "version": version or _pinned(pair.peer),
        "work": pair.work,
        "size": pair.size,
        "theirs": theirs,
        "ours": ours,
        "equal": equal,
        "differ": differ,
    }


def _pinned(peer: str) -> str:
    lines = (SCRIPTS / f"{peer}.txt").read_text("utf-8").splitlines()
    line = next(line for line in lines if peer in line)
    return line.partition("==")[2] or line.partition("@")[2].partition("#")[0]


def _side(
    seconds: float | None, imports: float | None, gib: float | None, result: Any = None, failed: str | None = None
) -> dict[str, Any]:
    numbers = {"seconds": seconds, "import_seconds": imports, "gib": gib}
    rounded = {name: None if value is None else round(value, 3) for name, value in numbers.items()}
    return {**rounded, "result": result or {}, "failed": failed}


def judged(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """The figures that both results have: which are equal, and which differ."""
    shared = [name for name in theirs if name in ours]
    equal = [name for name in shared if _are_equal(theirs[name], ours[name])]
    return equal, [name for name in shared if name not in equal]


def _are_equal(one: Any, other: Any) -> bool:
    if isinstance(one, str) or isinstance(other, str):
        return bool(one == other)
    return isclose(one, other, rel_tol=CLOSE)


# WireViz ------------------------------------------------------------------------------------------------------------


def _harnesses(folder: Path, command: tuple[str, ...]) -> Iterator[Pair]:  # noqa: ARG001 - as the others
    """Every cable between servers, leaves and spines, from bomgen's list of them."""
    for gpus in HARNESSES:
        plan = HARNESS.replace("GPUS", str(gpus))
        cables, file, dot = folder / "harness.csv", folder / f"harness-{gpus}.yml", folder / "harness.dot"
        wiring = ((BOMGEN, "wiring", "-", "-o", str(cables)), plan)
        run(*wiring)
        rows = _rows(cables)
        file.write_text(json.dumps(harness(rows)), encoding="utf-8")
        build = ((BOMGEN, "build", "-", "-f", "json", "-o", str(folder)), plan)
        size, asked = f"{len(rows)} cables", {"file": str(file)}
        yield Pair(
            *("wireviz", "bill of the cables", size, asked | {"formats": "t"}, (build,)),
            partial(_bill, folder / "harness" / "bom.json"),
        )
        drawn = (
            ((BOMGEN, "wiring", "-", "-f", "dot", "-o", str(dot)), plan),
            (("dot", "-Tsvg", "-o", f"{dot}.svg", str(dot)), ""),
        )
        yield Pair(
            *("wireviz", "drawing of the cables", size, asked | {"formats": "s"}, drawn),
            lambda: {},
            "bomgen.workflow.pipeline, bomgen.cabling.wiring, bomgen.output.registry",
        )


def harness(rows: Iterable[Mapping[str, str]]) -> dict[str, Any]:
    """Cables as a harness of WireViz: a connector a device with a pin a port, a cable of one wire each."""
    rows = list(rows)
    pins: dict[str, list[str]] = {}
    connections = []
    for row in rows:
        ends = []
        for end in "ab":
            ports = pins.setdefault(row[f"{end}_device"], [])
            ports.append(row[f"{end}_port"])
            ends.append({row[f"{end}_device"]: [len(ports)]})
        connections.append([ends[0], {row["label"]: [1]}, ends[1]])
    return {
        "connectors": {device: {"pinlabels": ports} for device, ports in pins.items()},
        "cables": {
            row["label"]: {"type": row["sku"], "wirecount": 1, "length": float(row["length_m"])} for row in rows
        },
        "connections": connections,
    }


def _bill(path: Path) -> dict[str, Any]:
    """Cables on the bill, and their metres as sold."""
    lines = json.loads(path.read_text("utf-8"))["lines"]
    cables = [line for line in lines if line["category"] == "cable"]
    return {"cables": sum(line["quantity"] for line in cables)}


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


# InfraGraph ---------------------------------------------------------------------------------------------------------


def _trees(folder: Path, command: tuple[str, ...]) -> Iterator[Pair]:
    """Full fat trees, written as an infrastructure; InfraGraph's graph of either file is counted."""
    for ports, tiers in TREES:
        gpus = 2 * (ports // 2) ** tiers
        plan = TREE.replace("GPUS", str(gpus)).replace("PORTS", str(ports)).replace("TIERS", str(tiers))
        if tiers == 2:
            plan = "".join(line for line in plan.splitlines(True) if "spine-core" not in line)
        theirs, ours = folder / "theirs.json", folder / "ours.json"
        yield Pair(
            *("infragraph", "infrastructure of a full fat tree", f"{ports} ports, {tiers} tiers, {gpus} GPUs"),
            {"ports": ports, "tiers": tiers, "nics": NICS, "file": str(theirs)},
            (((BOMGEN, "wiring", "-", "-f", "infragraph", "-o", str(ours)), plan),),
            partial(_counted, command, ours),
            "bomgen.workflow.pipeline, bomgen.cabling.wiring, bomgen.output.wiring.graphs",
            partial(_counted, command, theirs),
        )


def _counted(command: tuple[str, ...], file: Path) -> dict[str, Any]:
    """What the peer's graph of a file has; nothing where the peer is not there."""
    try:
        result: dict[str, Any] = json.loads(run(command, json.dumps({"read": str(file)}), MOST).said)["result"]
    except Failed:
        return {}
    return result


# pyavd --------------------------------------------------------------------------------------------------------------


def _fabrics(folder: Path, command: tuple[str, ...]) -> Iterator[Pair]:  # noqa: ARG001 - as the others
    """Leaf-spine fabrics of routed links, as many links between a leaf and a spine as bomgen lays."""
    for gpus in FABRICS:
        out = folder / "routed.csv"
        wiring = ((BOMGEN, "wiring", "-", "-o", str(out)), ROUTED.replace("GPUS", str(gpus)).replace("SWITCH", SWITCH))
        run(*wiring)
        links = _links(out)
        leaves, spines = (len({pair[end] for pair in links}) for end in (0, 1))
        [each] = set(links.values())
        yield Pair(
            *("pyavd", "links of a leaf-spine fabric", f"{leaves} leaves, {spines} spines, {each} links of each two"),
            {"leaves": leaves, "spines": spines, "links": each},
            (wiring,),
            lambda out=out: {
                "switches": len({name for pair in _links(out) for name in pair}),
                "links": sum(_links(out).values()),
            },
            "bomgen.workflow.pipeline, bomgen.cabling.wiring, bomgen.output.wiring.columns",
        )


def _links(path: Path) -> Counter[tuple[str, str]]:
    """The links of each leaf and spine."""
    return Counter((row["a_device"], row["b_device"]) for row in _rows(path) if row["kind"] == "leaf-spine")


# llm-analysis -------------------------------------------------------------------------------------------------------


def _trainings(folder: Path, command: tuple[str, ...]) -> Iterator[Pair]:  # noqa: ARG001 - as the others
    """LLaMA 65B on 2048 A100: the plan as it is, and with the shape and conventions of the peer."""
    asis = (BOMGEN, "build", "plans/llama65b.yaml", "-f", "json", "-o", str(folder))
    yield Pair(
        *("llm-analysis", "plans/llama65b.yaml, as it is", "2048 GPUs", ASKED, ((asis, ""),)),
        partial(_training, folder / "llama65b" / "bom.json"),
    )
    shaped = (BOMGEN, "build", "-", "-f", "json", "-o", str(folder))
    yield Pair(
        *("llm-analysis", "the same run with shape and attention", "2048 GPUs", ASKED, ((shaped, RUN),)),
        partial(_training, folder / "run" / "bom.json"),
    )
    command_line = (BOMGEN, "search", "-", "--over", f"cluster.servers={SIZES[0]}..{SIZES[-1]}", "--minimise", "days")
    searched = RUN.replace("gpus: 2048", "servers: 1")
    yield Pair(
        *("llm-analysis", "days of the run on other numbers of servers", f"{len(SIZES)} designs"),
        ASKED | {"servers": list(SIZES)},
        (((*command_line, "-o", str(folder / "front.json")), searched),),
        partial(_search, folder / "front.json"),
        imports="bomgen.workflow.design_search",
    )
    yield from _measured_steps("llm-analysis", folder)


def _search(path: Path) -> dict[str, Any]:
    """What a search for the fewest days says, under the peer's names."""
    found = json.loads(path.read_text("utf-8"))
    return {"designs": found["tried"], "days": found["front"][0]["measures"]["days"]}


def _training(path: Path) -> dict[str, Any]:
    """What a bom.json says of its training run, under the peer's names."""
    bill = json.loads(path.read_text("utf-8"))
    found, gpus = bill["workload"], bill["cluster"]["gpus"]
    return {
        "parameters": found["parameters"],
        "FLOPs a token": found["flops"] / ASKED["tokens"],
        "days": found["days"],
        "GPU-hours": found["days"] * 24 * gpus,
        **{name: bytes for name, bytes in found.get("memory", {}).get("per_gpu", {}).items() if name != "total"},
    }


# Calculon -----------------------------------------------------------------------------------------------------------


def _predictions(folder: Path, command: tuple[str, ...]) -> Iterator[Pair]:  # noqa: ARG001 - as the others
    yield from _measured_steps("calculon", folder)


def _measured_steps(peer: str, folder: Path) -> Iterator[Pair]:
    """Steps that were measured, by the peer and by fits of bomgen that have not seen their clusters."""
    measured, _ = read(Catalog())
    clusters = [cluster for group in MEASURED for cluster in group]
    asked = {"rows": [_asked(row) for row in measured if row.cluster in clusters], "efficiency": ASKED["efficiency"]}
    found = folder / "steps.json"
    fit = (
        sys.executable,
        str(CHECKOUT / "tools" / "fit" / "unseen.py"),
        str(found),
        *(",".join(group) for group in MEASURED),
    )
    yield Pair(
        *(peer, "steps of measured runs on A100", f"{len(asked['rows'])} rows", asked, ((fit, ""),)),
        lambda: json.loads(found.read_text("utf-8")),
        "bomgen.sizing.prediction.predict, bomgen.catalog.files, numpy",
    )


def _asked(row: MeasuredStep) -> dict[str, Any]:
    """A row as the peers are asked for it."""
    counts = {name: int(getattr(row.split, name)) for name in ("batch", "micro_batch", "tensor", "pipeline", "data")}
    shape = {name: int(row.fields[name]) for name in ("gpus", "layers", "hidden", "heads", "ffn", "vocab")}
    return {
        **counts,
        **shape,
        "cluster": row.cluster,
        "step": row.step,
        "sequence": int(row.work.sequence),
        "interleave": int(row.split.interleave),
        "recompute": row.fields["recompute"] or "none",
        "sequence_parallel": bool(row.split.sequence_parallel),
    }


_PAIRS = {
    "wireviz": _harnesses,
    "infragraph": _trees,
    "pyavd": _fabrics,
    "llm-analysis": _trainings,
    "calculon": _predictions,
}


# table --------------------------------------------------------------------------------------------------------------


def table(result: Result) -> str:
    """The works of both as a Markdown table."""
    head = ("peer", "work", "size", "peer s", "of that imports", "GiB", "bomgen s", "of that imports", "GiB", "results")
    rows = [
        (
            f"{entry['peer']} {entry['version']}",
            entry["work"],
            entry["size"],
            *_numbers(entry["theirs"]),
            *_numbers(entry["ours"]),
            _verdict(entry),
        )
        for entry in result["peers"]
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([f"| {' | '.join(head)} |", "|" + "---|" * len(head), *lines])


def _numbers(side: Mapping[str, Any]) -> tuple[str, str, str]:
    if side["failed"]:
        return side["failed"], "", ""
    return f"{side['seconds']:.2f}", f"{side['import_seconds']:.2f}", f"{side['gib']:.2f}"


def _verdict(entry: Mapping[str, Any]) -> str:
    """What is equal, and both values of what differs."""
    theirs, ours = entry["theirs"]["result"], entry["ours"]["result"]
    said = [f"equal: {', '.join(f'{name} {_shown(ours[name])}' for name in entry['equal'])}"] if entry["equal"] else []
    said += [f"{name} {_shown(theirs[name])}, bomgen {_shown(ours[name])}" for name in entry["differ"]]
    return "; ".join(said) or "no figures of both"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if value >= LARGE:
        return f"{value / 1e9:.5g}e9"
    return f"{value:,.0f}".replace(",", " ") if float(value).is_integer() or value >= WHOLE else f"{value:.5g}"
