"""Times commands of bomgen against the imports that they cannot do without.

Each figure is the shortest of several runs of cold processes; the runs of a command and of its base take turns, so that
what else the machine does falls on both. The bars are goals: missing one is shown and never fails.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

CHECKOUT = Path(__file__).parents[1]
BOMGEN = str(Path(sys.executable).with_name("bomgen"))
PLAN = "plans/llama65b.yaml"
RUNS = 15
FEW_RUNS = 3


@dataclass(frozen=True)
class Race:
    """A command, the modules whose import is its base, and how many times the base it may take."""

    command: tuple[str, ...]
    modules: str
    bar: float


RACES = (
    Race(("build", PLAN), "yaml, jsonschema, jinja2, openpyxl, click", 3),
    Race(("check", PLAN), "yaml, jsonschema, click", 2),
    Race(("--help",), "click", 2),
)


MILLION = """
bomgen: 1
name: million
cluster: {gpu: h100-sxm, gpus: 1000000}
fabrics: {compute: {topology: TOPOLOGY, switch: generic-th6-64x1600, link: 400G, tiers: 3}}
"""
RESOLVED = ("fat-tree", "rail-optimized", "rail-only")
MOST_SECONDS = 0.3
"""What resolving a plan of a million GPUs may take inside the process."""


WIRED = """
bomgen: 1
name: wired
cluster: {gpu: h100-sxm, gpus: GPUS}
fabrics:
  compute:
    switch: generic-th6-64x1600
    link: 400G
    tiers: 3
    links:
      server-leaf: {medium: transceiver, module: generic-400g}
      leaf-spine: {medium: transceiver, module: generic-400g}
      spine-core: {medium: transceiver, module: generic-400g}
"""
QUOTED = """
bomgen: 1
name: quoted
cluster: {gpu: h100-sxm, gpus: 16384}
fabrics: {compute: {switch: qm9700, tiers: 3}}
site: {rack: {power: 45 kW}, layout: auto, pue: 1.3, electricity: 0.08}
quote: {price_book: prices/example-2026q4.yaml}
"""
SIZES = (16_384, 131_072, 1_000_000)
LARGEST = 1_000_000
ALL_FORMATS = "md,html,xlsx,json,csv"
LEAST_CHECKED = 500_000
"""Cables that are to be enumerated and checked in a second."""
MOST_QUOTING, MOST_WRITING = 3, 15
"""Seconds that a command may take for all formats of a quote, and for the wiring of a million GPUs."""
LINES, EVERY = 10_000, 4
"""Lines of the bills that are compared, and which of them change."""
MOST_COMPARING = 0.5
"""Seconds that a comparison of them may take beyond the start of the program."""
MOST_MEMORY = 2
"""GiB that the wiring of a million GPUs may take."""
KIB_A_GIB = 1024**2


def _checking(gpus: int) -> tuple[int, float]:
    """The cables of so many GPUs, and the shortest time in which a warm process lists and checks every one."""
    from bomgen.inputs import PlanFile
    from bomgen.pipeline import wired, work_out

    report = work_out(PlanFile("plan.yaml", WIRED.replace("GPUS", str(gpus)).encode(), CHECKOUT, CHECKOUT))
    times, cables = [], 0
    for _ in range(FEW_RUNS):
        start = time.perf_counter()
        cables = wired(report).pieces
        times.append(time.perf_counter() - start)
    return cables, min(times)


def _once(arguments: list[str], plan: str) -> tuple[float, float]:
    """The shortest time of a command that reads a plan, and the most memory that any command took so far [GiB]."""
    times = []
    for _ in range(FEW_RUNS):
        start = time.perf_counter()
        subprocess.run([BOMGEN, *arguments], input=plan.encode(), check=True, cwd=CHECKOUT, capture_output=True)
        times.append(time.perf_counter() - start)
    return min(times), resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / KIB_A_GIB


def _resolving(topology: str) -> float:
    """The shortest time in which a warm process works out a plan of a million GPUs, nothing remembered."""
    from bomgen.fabric.search import best
    from bomgen.inputs import PlanFile
    from bomgen.pipeline import work_out

    times = []
    for _ in range(RUNS):
        best.cache_clear()
        start = time.perf_counter()
        work_out(PlanFile("plan.yaml", MILLION.replace("TOPOLOGY", topology).encode(), CHECKOUT, CHECKOUT))
        times.append(time.perf_counter() - start)
    return min(times)


def _seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, cwd=CHECKOUT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def _measured(race: Race, folder: str) -> tuple[float, float]:
    """The shortest times of command and base; the first run of both, which may write byte code, does not count."""
    output = ("-o", folder) if race.command[0] == "build" else ()
    command = [BOMGEN, *race.command, *output]
    base = [sys.executable, "-c", f"import {race.modules}"]
    times = [(_seconds(command), _seconds(base)) for _ in range(RUNS + 1)][1:]
    return min(taken for taken, _ in times), min(taken for _, taken in times)


def main() -> None:
    """Print one row a race."""
    print(f"{'what':34} {'seconds':>8} {'base s':>8} {'ratio':>6} {'bar':>4}   base")
    with tempfile.TemporaryDirectory(prefix="bomgen-bench-") as folder:
        for race in RACES:
            taken, base = _measured(race, folder)
            what, ratio = f"bomgen {' '.join(race.command)}", taken / base
            missed = "  MISSED" if ratio > race.bar else ""
            print(f"{what:34} {taken:8.3f} {base:8.3f} {ratio:6.2f} {race.bar:4g}   import {race.modules}{missed}")

    print(f"\n{'resolving 1 000 000 GPUs, three tiers':46} {'seconds':>8} {'bar':>4}")
    for topology in RESOLVED:
        taken = _resolving(topology)
        print(f"{topology:46} {taken:8.3f} {MOST_SECONDS:4g}{_missed(taken > MOST_SECONDS)}")

    columns = f"{'cables':>9} {'seconds':>8} {'a million':>9} {'cables/s':>10}"
    print(f"\n{'every cable listed and checked, in memory':34} {columns}")
    for gpus in SIZES:
        cables, taken = _checking(gpus)
        rate = cables / taken
        row = f"{gpus:>26,} GPUs {cables:12,} {taken:8.3f} {taken / cables * 1e6:9.3f} {rate:10,.0f}"
        print(f"{row}  bar {LEAST_CHECKED:,}{_missed(rate < LEAST_CHECKED)}")

    print(f"\n{'whole commands':46} {'seconds':>8} {'bar':>4} {'GiB':>6} {'bar':>4}")
    with tempfile.TemporaryDirectory(prefix="bomgen-bench-") as folder:
        taken, _ = _once(["build", "-", "-o", folder, "-f", ALL_FORMATS], QUOTED)
        what = "build -f all, 16 384 GPUs in three tiers"
        print(f"{what:46} {taken:8.3f} {MOST_QUOTING:4g}{_missed(taken > MOST_QUOTING)}")
        for form in ("csv", "parquet"):
            out = str(Path(folder) / f"wiring.{form}")
            taken, memory = _once(["wiring", "-", "-f", form, "-o", out], WIRED.replace("GPUS", str(LARGEST)))
            missed = _missed(taken > MOST_WRITING or memory > MOST_MEMORY)
            what = f"wiring -f {form}, {LARGEST:,} GPUs"
            print(f"{what:46} {taken:8.3f} {MOST_WRITING:4g} {memory:6.2f} {MOST_MEMORY:4g}{missed}")
    _print_comparing()


def _bills(folder: Path) -> list[str]:
    """Two bom.json of many lines, of which every fourth changes: a real one, its lines over and over."""
    from bomgen.inputs import PlanFile
    from bomgen.pipeline import work_out
    from bomgen.report import result

    base = result(work_out(PlanFile("plan.yaml", QUOTED.encode(), CHECKOUT, CHECKOUT)))
    lines = [
        line | {"id": f"{line['id']}.{number}"}
        for number in range(LINES // len(base["lines"]) + 1)
        for line in base["lines"]
    ][:LINES]
    derivations = {
        f"{path}.{number}": value
        for number in range(LINES // len(base["derivations"]))
        for path, value in base["derivations"].items()
    }
    paths = []
    for name, more in (("old", 0), ("new", 1)):
        of_side = [_line(line, more if at % EVERY == 0 else 0) for at, line in enumerate(lines)]
        total = f"{sum(Decimal(line['amount'] or 0) for line in of_side):.2f}"
        data = base | {"lines": of_side, "totals": base["totals"] | {"list": total, "amount": total}}
        path = folder / f"{name}.json"
        path.write_text(json.dumps(data | {"derivations": base["derivations"] | derivations}, indent=1))
        paths.append(str(path))
    return paths


def _line(line: dict[str, Any], more: int) -> dict[str, Any]:
    """A line with more pieces, and what it comes to."""
    pieces, unit = line["quantity"] + more, line["unit_price"]
    amount = unit and f"{(pieces + line['spare']) * Decimal(unit):.2f}"
    return line | {"quantity": pieces, "amount": amount}


def _comparing() -> tuple[float, float, float]:
    """The shortest time of a comparison of two long bills, that of help before it, and the size of a bill [MB]."""
    with tempfile.TemporaryDirectory(prefix="bomgen-bench-") as folder:
        bills = _bills(Path(folder))
        size = Path(bills[0]).stat().st_size / 1e6
        times = [(_seconds([BOMGEN, "diff", *bills]), _seconds([BOMGEN, "--help"])) for _ in range(RUNS)]
    return min(taken for taken, _ in times), min(taken for _, taken in times), size


def _print_comparing() -> None:
    taken, start, size = _comparing()
    print(f"\n{'beyond start-up':46} {'seconds':>8} {'bar':>4}")
    what = f"diff of two bills of {LINES:,} lines, {size:.0f} MB each"
    print(f"{what:46} {taken - start:8.3f} {MOST_COMPARING:4g}{_missed(taken - start > MOST_COMPARING)}")


def _missed(is_missed: bool) -> str:
    return "  MISSED" if is_missed else ""


if __name__ == "__main__":
    main()
