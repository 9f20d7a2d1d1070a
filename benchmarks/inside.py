"""What is timed inside a process that is warm.

Called as `inside.py` with `resolve TOPOLOGY`, `plans PLAN`, `cables GPUS` or `bills FOLDER`. A process of its own for
each, so that the one that measures stays small. Prints JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from statistics import median
from typing import Any

from bomgen.report.result import Report
from bomgen.workflow.inputs import PlanFile
from bomgen.workflow.pipeline import list_cables, work_out
from plans import LINES, MILLION, QUOTED, RANDOM, WIRED, draw_plans

CHECKOUT = Path(__file__).parents[1]
REPEATS = 3
MANY, WARMING = 15, 5
"""Times that one plan is worked out, and before it is timed."""
EVERY = 4
"""Which lines of the bills that are compared change."""


def _worked_out(plan: str) -> Report:
    return work_out(PlanFile("plan.yaml", plan.encode(), CHECKOUT, CHECKOUT))


def _shortest(work: Callable[[], Any]) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def resolve(topology: str) -> dict[str, float]:
    """The shortest time in which a plan of a million GPUs is worked out, no search remembered."""
    from bomgen.fabric.clos import search

    def anew() -> None:
        for each in vars(search).values():
            if hasattr(each, "cache_clear"):
                each.cache_clear()
        _worked_out(MILLION.replace("TOPOLOGY", topology))

    return {"seconds": _shortest(anew)}


def plans(plan: str) -> dict[str, float]:
    """The median time in which a plan is worked out again, or each of the random ones of one fabric."""
    from bomgen import build

    drawn = list(draw_plans()) if plan == RANDOM else [str(CHECKOUT / plan)] * MANY
    for each in drawn[:WARMING]:
        build(each)
    times = []
    for each in drawn:
        start = time.perf_counter()
        build(each)
        times.append(time.perf_counter() - start)
    return {"seconds": median(times)}


def cables(gpus: str) -> dict[str, float]:
    """The shortest time in which every cable of so many GPUs is listed and checked, and how many they are."""
    report = _worked_out(WIRED.replace("GPUS", gpus))
    return {"seconds": _shortest(lambda: list_cables(report)), "cables": list_cables(report).pieces}


def bills(folder: str) -> dict[str, list[str]]:
    """Write two bom.json of many lines, of which every fourth changes: a real one, its lines over and over."""
    from bomgen.report.result import result

    base = result(_worked_out(QUOTED))
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
        path = Path(folder) / f"{name}.json"
        path.write_text(json.dumps(data | {"derivations": base["derivations"] | derivations}, indent=1))
        paths.append(str(path))
    return {"paths": paths}


def _line(line: dict[str, Any], more: int) -> dict[str, Any]:
    """A line with more pieces, and what it comes to."""
    pieces, unit = line["quantity"] + more, line["unit_price"]
    amount = unit and f"{(pieces + line['spare']) * Decimal(unit):.2f}"
    return line | {"quantity": pieces, "amount": amount}


if __name__ == "__main__":
    print(json.dumps({"resolve": resolve, "plans": plans, "cables": cables, "bills": bills}[sys.argv[1]](sys.argv[2])))
