"""The memory of training runs against published values, from the block a user would write."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.figures import Cited, Figure, Mark
from bomgen.parts import Gpu, Identity, Model
from bomgen.plan import Parallelism, Training
from bomgen.sizing.memory import Memory
from bomgen.sizing.parallelism import Fit, fit

BYTES = {"GB": 10**9, "GiB": 2**30}
CASES = yaml.safe_load(Path(__file__).with_name("training_memory.yaml").read_text(encoding="utf-8"))
PLACE = Mark("plan.yaml", 1, 1)
DEFAULTS: dict[str, Any] = {
    **{"tokens": 10**9, "epochs": 1, "precision": "bf16", "attention": "none", "recompute": "none"},
    **{"parallel_efficiency": 1, "goodput": 1, "micro_batch": 1, "optimizer": "adam", "gradient_precision": "fp32"},
    **{"zero": 1, "flops_per_parameter_token": 6, "recompute_flops_per_parameter_token": 8},
    **dict.fromkeys(("target_days", "mfu", "achieved_tflops", "tokens_per_second_per_gpu", "sequence", "batch_tokens")),
}


def figure(value: Any, unit: str = "count") -> Figure:
    """A value as the source of a case gives it."""
    return Figure(value, unit, Cited("published run", (), "high"))


def training(keys: dict[str, Any]) -> Training:
    """The run that the keys of a `training` block describe."""
    shape = {key: figure(value) for key, value in keys["model"].items()}
    parameters = shape.pop("parameters")
    model = Model(Identity("model", "published", "published"), parameters, parameters, False, shape)
    degree = {key: figure(1) for key in ("tensor", "pipeline", "interleave", "context", "expert")}
    by_hand = dict(keys["parallelism"])
    sequence_parallel = by_hand.pop("sequence_parallel", False)
    degree |= {key: figure(value) for key, value in by_hand.items()}
    values = DEFAULTS | {key: value for key, value in keys.items() if key not in ("model", "parallelism")}
    figures = {key: None if value is None else figure(value) for key, value in values.items()}
    parallelism = Parallelism(**degree, sequence_parallel=sequence_parallel, mark=PLACE)
    return Training(mark=PLACE, model=model, parallelism=parallelism, **figures)  # type: ignore[arg-type]


def fit_of(case: dict[str, Any]) -> Fit:
    """What comes of a case on a GPU of which no memory is known."""
    gpu = Gpu(Identity("gpu", "any", "any"), {}, {}, None, None)
    return fit(training(case["training"]), gpu, figure(case["gpus"]), None)


def term(memory: Memory, name: str) -> Figure:
    """A term of a memory that is known."""
    figure = getattr(memory, name)
    assert isinstance(figure, Figure)
    return figure


def states(memory: Memory) -> int:
    """Weights, gradients and optimizer states [bytes]."""
    return int(memory.weights.value + memory.gradients.value + memory.optimizer.value)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_memory_is_as_published(case: dict[str, Any]) -> None:
    """Every published term comes out as printed."""
    found = fit_of(case)
    for memory, expected in ((found.per_gpu, case.get("per_gpu", {})), (found.replica, case.get("replica", {}))):
        for name, printed in expected.items():
            value = states(memory) if name == "states" else term(memory, name).value
            assert printed == round(value / BYTES[case["unit"]], case["decimals"]), name


def test_every_case_states_its_source() -> None:
    """No value is expected without the document it was read in, and no case expects nothing."""
    assert all(case["source"] and ("per_gpu" in case or "replica" in case) for case in CASES)
