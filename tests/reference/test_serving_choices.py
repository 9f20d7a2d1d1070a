"""The choice of a split, against what publishers run or recommend."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from bomgen.results.result import Report

QUESTIONS = yaml.safe_load(Path(__file__).with_name("serving-choices.yaml").read_text(encoding="utf-8"))["questions"]
ABOUT = ("gpu", "degrees", "servers", "source")
"""Keys of a question that are not keys of a plan."""
ENOUGH = 8
"""Questions in which the degree is the recipe's, at least; the others differ by a factor of two."""
SERVER = 8


def test_splits_are_those_that_publishers_run(worked: Callable[[dict[str, Any]], Report]) -> None:
    """Within a server unless the model does not fit one; the recipe's degree in most, and within a factor of two."""
    alike = 0
    for question in QUESTIONS:
        inference = {key: value for key, value in question.items() if key not in ABOUT}
        plan = {"bomgen": 1, "name": "recipe", "workload": {"inference": inference}}
        serving = worked(plan | {"cluster": {"gpu": question["gpu"]}}).design.sizing.serving
        assert serving is not None
        need = serving.need
        size = need.replica.gpus.value
        assert (size <= SERVER) is question.get("servers", True), (question, str(need.replica))
        alike += size in question["degrees"]
        assert size in question["degrees"] or {2 * size, size / 2} & set(question["degrees"]), (question, size)
        assert need.gpus_required.value <= need.gpus_to_buy.value
        own = need.replicas.value * size + (need.prefill.gpus.value if need.prefill else 0)
        assert (need.required_as is None) is (need.gpus_required.value == own), question
        assert "tensor 16" not in str(need.replica)
    assert alike >= ENOUGH
