"""Laws of the split that `auto` takes, over random runs: it is the fastest, and more GPUs never slow a run."""

from __future__ import annotations

import json
from math import inf
from pathlib import Path
from typing import Any

from depth import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.sizing.cluster_size import Sizing
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

HERE = Path(__file__).parent
PRINTED = 1 + 1e-3
"""Steps that differ by less are printed alike: numbers of replicas between those that are tried gain no more."""
MODELS = ("llama-3.1-8b", "llama-2-13b", "llama-3.1-70b", "mixtral-8x7b", "deepseek-v3", "qwen3-30b-a3b")
MOST_SERVERS = 160


@st.composite
def runs(draw: st.DrawFn) -> dict[str, Any]:
    """A training run with the keys that its split depends on."""
    run = {
        "model": draw(st.sampled_from(MODELS)),
        "tokens": "1T",
        "sequence": draw(st.sampled_from([2048, 4096, 8192])),
        "batch_tokens": draw(st.sampled_from(["0.5M", "1.5M", "4M"])),
        "zero": draw(st.sampled_from([1, 3])),
        "recompute": draw(st.sampled_from(["auto", "none", "full"])),
    }
    return {key: value for key, value in run.items() if value != "auto"}


def sized(run: dict[str, Any], gpu: str, servers: int) -> Sizing | None:
    """The size of a run on so many servers; None where it does not fit."""
    plan = {"bomgen": 1, "name": "drawn", "workload": {"training": run}, "cluster": {"gpu": gpu, "servers": servers}}
    try:
        return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), HERE, HERE)).design.sizing
    except PlanErrors:
        return None


def best_step(found: Sizing | None) -> float:
    """Seconds of the best split of a run on at most its GPUs, whatever is recomputed where the plan does not say."""
    if found is None or found.fit is None or found.faster is None:
        return inf
    faster = found.faster()
    return faster.seconds if faster else found.fit.fastest.seconds if found.fit.fastest else inf


@settings(max_examples=examples(12), deadline=None)
@given(runs(), st.sampled_from(["h100-sxm", "a100-sxm-80", "gb200"]), st.data())
def test_more_gpus_never_slow_a_run(run: dict[str, Any], gpu: str, data: st.DataObject) -> None:
    """The best split on at most so many GPUs takes no longer than on fewer; one that is named as faster is.

    A number of GPUs that no split fits is refused with numbers that do, and not compared.
    """
    unit = 18 if gpu == "gb200" else 1
    servers = data.draw(st.integers(1, MOST_SERVERS // unit)) * unit
    more = servers + data.draw(st.integers(1, 8)) * unit
    few, many = sized(run, gpu, servers), sized(run, gpu, more)
    assume(few and many)
    assert best_step(many) <= best_step(few) * PRINTED
    for each in (few, many):
        if each and each.fit and each.fit.fastest:
            assert best_step(each) <= each.fit.fastest.seconds
