"""Times commands of bomgen against the imports that they cannot do without.

Each figure is the shortest of several runs of cold processes; the runs of a command and of its base take turns, so that
what else the machine does falls on both. The bars are goals: missing one is shown and never fails.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
BOMGEN = str(Path(sys.executable).with_name("bomgen"))
PLAN = "plans/llama65b.yaml"
RUNS = 15


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


def _resolving(topology: str) -> float:
    """The shortest time in which a warm process works out a plan of a million GPUs, nothing remembered."""
    from bomgen.fabric.search import best
    from bomgen.pipeline import PlanFile, work_out

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
        print(f"{topology:46} {taken:8.3f} {MOST_SECONDS:4g}{'  MISSED' if taken > MOST_SECONDS else ''}")


if __name__ == "__main__":
    main()
