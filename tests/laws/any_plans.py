"""Small plans of every workload on every machine of the catalogue, and the shipped plans with one key changed.

Machines and kinds of workload take turns, so that many plans have every pair of them; all else is drawn.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count, islice
from math import isfinite
from pathlib import Path
from random import Random
from typing import Any

import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from whole_plans import Whole, maybe, quotes, shares, workloads

from bomgen.catalog.files import Catalog
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]
CATALOG = Catalog()
SERVERS = tuple(CATALOG.ids("server"))
PLACED = {str(CATALOG.find("server", id).value("gpu")) for id in SERVERS}
MACHINES: tuple[dict[str, Any], ...] = (
    *({"gpu": CATALOG.find("server", id).value("gpu"), "server": id} for id in SERVERS),
    *({"gpu": id} for id in CATALOG.ids("gpu") if id not in PLACED),
)
"""The servers of the catalogue, and its GPUs that are in none of them."""
KINDS = ("training", "inference", "fine_tuning", "inference", "reinforcement", "inference", "compute")
MODELS = tuple(CATALOG.ids("model"))
SMALL = tuple(
    path
    for path in sorted((ROOT / "plans").glob("*.yaml"))
    if path.stem
    in (
        *("1000P-dense", "a100-32-zh", "ascend-910c", "b300-ruijie-zh", "deepseek-r1-h20-zh", "gaudi3-64"),
        *("h100-127", "llama2-7b-chat", "llama3-70b-lora", "llama65b-quote", "llama70b-chat-latency", "mi355x-arista"),
        *("qwen3-32b-grpo", "rtx-pro-6000-2", "rubin-nvl8", "training-and-serving"),
    )
)
"""Shipped plans of clusters that are drawn in a second or two."""


@st.composite
def services(draw: st.DrawFn) -> dict[str, Any]:
    """A model of the catalogue to be served, with a load of any kind."""
    served: dict[str, Any] = {"model": draw(st.sampled_from(MODELS))}
    if draw(st.booleans()):
        lengths = {"prompt_tokens": draw(st.integers(1, 8000)), "output_tokens": draw(st.integers(0, 2000))}
        served |= lengths
        maybe(draw, served, "requests_per_minute", st.integers(1, 600))
        targets = st.fixed_dictionaries(
            {},
            optional={"ttft": st.sampled_from(("1 s", "5 s")), "tpot": st.sampled_from(("20 ms", "40 ms", "100 ms"))},
        )
        maybe(draw, served, "targets", targets.filter(bool))
        maybe(draw, served, "peak", st.sampled_from((1, 1.5, 3)))
        maybe(draw, served, "pools", st.sampled_from(("one", "auto")))
    else:
        served["context"] = draw(st.sampled_from((1, 2048, 32768)))
    if "requests_per_minute" not in served:
        maybe(draw, served, "concurrency", st.integers(1, 64))
    maybe(draw, served, "precision", st.sampled_from(("bf16", "fp8", "int4")))
    maybe(draw, served, "kv_precision", st.just("fp8"))
    maybe(draw, served, "engine", st.sampled_from(("vllm", "sglang", "tensorrt-llm")))
    if draw(st.integers(0, 3)) == 0:
        served["parallelism"] = {"tensor": draw(st.sampled_from((1, 2, 4, 8)))}
    return served


@st.composite
def terms(draw: st.DrawFn) -> tuple[dict[str, Any], dict[str, Any], Whole]:
    """A workload of every kind, the size of a cluster, and a plan that has neither yet."""
    files: dict[str, str] = {}
    offered = {kind: draw(workloads(kind)) for kind in KINDS} | {"inference": {"inference": draw(services())}}
    cluster: dict[str, Any] = {}
    maybe(draw, cluster, "servers", st.integers(1, 12))
    maybe(draw, cluster, "spare_servers", st.integers(0, 2))
    plan: dict[str, Any] = {"bomgen": 1, "name": "law"}
    roles = st.sampled_from(("compute", "storage", "in_band", "out_of_band"))
    maybe(draw, plan, "fabrics", st.dictionaries(roles, st.just("default"), min_size=1))
    maybe(draw, plan, "site", st.just({"rack": {"power": "60 kW"}, "electricity": 0.08, "pue": 1.3}))
    if "site" in plan:
        maybe(draw, plan, "operation", st.just({"years": 3, "rack_cost": 1500}))
    maybe(draw, plan, "spares", st.dictionaries(st.sampled_from(("server", "switch", "cable")), shares(10), min_size=1))
    plan["quote"] = draw(quotes(files))
    return offered, cluster, Whole(plan, files)


def draw_plans(number: int, chosen: int) -> list[Whole]:
    """Plans for a seed, each of one workload on one machine: both take turns."""
    found: list[Whole] = []

    @seed(chosen)
    @settings(
        max_examples=number,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(terms())
    def draw(drawn: tuple[dict[str, Any], dict[str, Any], Whole]) -> None:
        offered, cluster, whole = drawn
        machine, kind = (items[(chosen + len(found)) % len(items)] for items in (MACHINES, KINDS))
        found.append(whole._replace(plan={**whole.plan, "cluster": {**machine, **cluster}, "workload": offered[kind]}))

    draw()
    return found


def numbers(plan: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], int | float]]:
    """The numbers of a plan, each with its path."""
    items = plan.items() if isinstance(plan, dict) else enumerate(plan) if isinstance(plan, list) else ()
    for key, value in items:
        if isinstance(value, int | float) and not isinstance(value, bool) and key != "bomgen":
            yield (*path, key), value
        yield from numbers(value, (*path, key))


def changed_plans(number: int, chosen: int) -> Iterator[PlanFile]:
    """Shipped plans, each with one number changed or one key left out."""
    random = Random(chosen)  # noqa: S311
    for turn in islice(count(chosen), number):
        path = SMALL[turn % len(SMALL)]
        plan = yaml.safe_load(path.read_text(encoding="utf-8"))
        places = [(at, value) for at, value in numbers(plan) if isfinite(value)]
        *above, key = at = (
            random.choice(places)[0] if places and random.random() < 2 / 3 else (random.choice(list(plan)),)
        )
        held = plan
        for step in above:
            held = held[step]
        if len(at) == 1 or isinstance(held[key], dict):
            del held[key]
        else:
            held[key] = random.choice((1, held[key] + 1, held[key] * 2, held[key] // 2))
        yield PlanFile(path.name, json.dumps(plan, indent=1, default=str).encode(), path.parent, ROOT)
