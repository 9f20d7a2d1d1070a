"""What is timed inside a process that is warm.

Called as `inside.py` with `resolve TOPOLOGY`, `plans PLAN`, `cables GPUS`, `predictions COUNT`, `search CHUNKS`,
`cluster CHUNKS` or `bills FOLDER`. A process of its own for each, so that the one that measures stays small. Prints
JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from bomgen.core.provenance import require
from bomgen.core.units import TERA
from bomgen.results.result import Report
from bomgen.workflow.pipeline import list_cables, work_out
from bomgen.workflow.plan_files import PlanFile
from plans import (
    LINES,
    MILLION,
    QUOTED,
    RANDOM,
    SEARCHED,
    SEARCHED_MINIMISE,
    SEARCHED_OVER,
    WIRED,
    draw_plans,
)

if TYPE_CHECKING:
    from bomgen.workflow.design_search import SearchRequest

CHECKOUT = Path(__file__).parents[1]
REPEATS = 3
MANY, WARMING = 15, 5
"""Times that one plan is worked out, and before it is timed."""
MODEL = "llama-3.1-405b"
NETWORK = 400e9 / 8
"""Bytes/s of a NIC."""
CHUNK = 8192
"""Splits of an array: some hundred kilobytes for all that is held at a time."""
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
    from bomgen.workflow.library import build

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


def predictions(count: str) -> dict[str, float]:
    """The shortest time in which so many splits of Llama 3.1 405B are predicted, as arrays that fit a cache."""
    import numpy as np

    from bomgen.catalog import part_records
    from bomgen.catalog.files import Catalog
    from bomgen.sizing.model_work import work_of_model
    from bomgen.sizing.prediction import predict as fitted
    from bomgen.sizing.prediction.predict import predict_steps
    from bomgen.sizing.prediction.terms import Machine, Split, Work

    catalog = Catalog()
    model, gpu = part_records.model(catalog.find("model", MODEL)), part_records.gpu(catalog.find("gpu", "h100-sxm"))
    found = work_of_model(model, catalog.assumption("training-sequence"))
    work = Work(*(float(figure.value) for figure in require(found, "a model of the catalogue has a shape")))
    peak = float(gpu.dense["bf16"].value) * TERA
    memory, links = require(gpu.memory_bandwidth, "known of an H100"), require(gpu.scale_up, "known of an H100")
    bandwidths = (float(memory.value), float(links.value) / 2, NETWORK)
    machine = Machine(peak, peak, *bandwidths, 8.0, 0.6)
    inverse = fitted.inverse_efficiencies(fitted.Members("hopper", "16-bit", "megatron-bridge", "dense"))
    draw = np.random.default_rng(0)
    ways = [2.0 ** draw.integers(0, most, CHUNK) for most in (4, 4, 5, 4, 8, 4, 1)]
    flags = [draw.integers(0, 2, CHUNK).astype(float) for _ in range(8)]
    split = Split(2048.0, *ways, 3.0 * draw.integers(0, 2, CHUNK), 1.0, *flags)
    chunks = int(count) // CHUNK
    seconds = _shortest(lambda: [predict_steps(work, machine, split, inverse) for _ in range(chunks)])
    return {"seconds": seconds, "predictions": chunks * CHUNK}


def search(chunks: str) -> dict[str, float]:
    """The time in which so many chunks of a search are looked at, cold and warm, on a core."""
    from bomgen.workflow.design_search import evaluator_of, look_for_front

    searched = _searched()
    work, chunk = partial(look_for_front, searched), evaluator_of(searched).chunk
    part = range(int(chunks) * chunk)
    start = time.perf_counter()
    work(part)
    cold = time.perf_counter() - start
    return {"seconds": _shortest(lambda: work(part)), "designs": len(part), "cold": cold}


def cluster(chunks: str) -> dict[str, float]:
    """The time in which two workers of a Dask cluster on this machine look at so many chunks, and two processes.

    Both have opened their tables before.
    """
    from distributed import LocalCluster

    from bomgen.workflow.design_search import (
        digest_of,
        evaluator_of,
        look_for_front,
        take_in_processes,
        take_on_cluster,
    )

    found = _searched()
    sent = found._replace(digest=digest_of(found))
    work = partial(look_for_front, sent)
    chunk = evaluator_of(found).chunk
    parts = [range(at * chunk, (at + 1) * chunk) for at in range(int(chunks))]
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as started:
        take = take_on_cluster(sent, started.scheduler_address)
        seconds = _shortest(lambda: list(take(work, parts)))
    with take_in_processes(2) as take:
        processes = _shortest(lambda: list(take(work, parts)))
    return {"seconds": seconds, "designs": chunk * int(chunks), "processes": processes}


def _searched() -> SearchRequest:
    """The search over millions of designs."""
    from bomgen.workflow.design_search import SearchRequest, open_search
    from bomgen.workflow.plan_files import open_plan

    file = open_plan(str(CHECKOUT / SEARCHED), None)
    return SearchRequest(file, (), open_search(file, (), SEARCHED_OVER, SEARCHED_MINIMISE))


def bills(folder: str) -> dict[str, list[str]]:
    """Write two bom.json of many lines, of which every fourth changes: a real one, its lines over and over."""
    from bomgen.results.result import result

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


WORKS = (resolve, plans, cables, bills, predictions, search, cluster)

if __name__ == "__main__":
    print(json.dumps({work.__name__: work for work in WORKS}[sys.argv[1]](sys.argv[2])))
