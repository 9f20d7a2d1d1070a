"""Modules and cables against published bills, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("optics.yaml").read_text(encoding="utf-8"))
PLANS = Path(__file__).parent.parent.parent / "plans"

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


def bom_of(case: dict[str, Any], built: Built) -> dict[str, Any]:
    """The delivered bom.json of a case."""
    plan = case["plan"]
    if isinstance(plan, str):
        plan = yaml.safe_load((PLANS / plan).read_text(encoding="utf-8"))
        plan.pop("quote", None)
    return built({"bomgen": 1, "name": "published", **plan})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_counts_are_as_published(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """Servers, switches, links, modules, cables and racks come out as printed."""
    bom = bom_of(case, built)
    assert case["expect"] == cells(bom, case["expect"])
    if "days" in case:
        assert case["days"] == f"{bom['workload']['days']:.2f}"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_lines_are_as_published(case: dict[str, Any], built: Built) -> None:
    """Every published part stands on its line with its quantity."""
    lines = {line["id"]: [line["part"], line["quantity"]] for line in bom_of(case, built)["lines"]}
    assert case["lines"] == {id: lines[id][-len(wanted) :] for id, wanted in case["lines"].items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_buyer_is_warned(case: dict[str, Any], built: Built) -> None:
    """A plan with planning parts says what the devices really take; one with real parts has nothing to say of them."""
    messages = [check["message"] for check in bom_of(case, built)["checks"] if check["status"] == "warn"]
    missing = [warning for warning in case["warnings"] if not any(warning in message for message in messages)]
    assert [] == missing
    if not case["warnings"]:
        assert [] == [message for message in messages if "is a placeholder" in message]
