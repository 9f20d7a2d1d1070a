"""Parameters from shapes against published totals, from a plan to the delivered bom.json."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import yaml

CASES = yaml.safe_load(Path(__file__).with_name("models.yaml").read_text(encoding="utf-8"))
DATA = Path(__file__).parents[2] / "bomgen" / "data" / "model"
WITHIN = 0.005
"""How far the count may be from the published total without a reason."""
COUNTS = ("workload.parameters", "workload.active_parameters")

Built = Callable[[dict[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]


def plan(model: Any) -> dict[str, Any]:
    """A plan that trains a model; its parallelism is by hand, so that too much memory is a warning only."""
    training = {"model": model, "tokens": "1T", "parallelism": {"tensor": 1}}
    cluster = {"gpu": "h100-sxm", "gpus": 16384}
    return {"bomgen": 1, "name": "shape", "workload": {"training": training}, "cluster": cluster}


def expected(case: dict[str, Any]) -> dict[str, Any]:
    """What the cells of a case must say."""
    values = (case["expected"], case.get("active", case["expected"]))
    # PyYAML reads 2e-7 as text
    tolerance = float(case.get("tolerance", 0))
    return {path: pytest.approx(value, rel=tolerance, abs=0) for path, value in zip(COUNTS, values, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_a_shape_alone_gives_the_parameters(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """A model described by its shape alone has the parameters that the shape comes to, all and active."""
    assert expected(case) == cells(built(plan(case["shape"])), COUNTS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_catalogue_counts_the_same(case: dict[str, Any], built: Built, cells: Cells) -> None:
    """The catalogue's model of that id has exactly these parameters."""
    assert expected({**case, "tolerance": 0}) == cells(built(plan(case["id"])), COUNTS)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_published_total_is_near_or_the_reason_is_given(case: dict[str, Any]) -> None:
    """Further than half a per cent from the published total, table and catalogue say why."""
    far = abs(case["expected"] / case["published"] - 1) > WITHIN
    record = yaml.safe_load((DATA / f"{case['id']}.yaml").read_text(encoding="utf-8"))
    assert far == ("reason" in case)
    assert case["published"] == record["parameters_published"]
    assert record.get("note") or not far


def test_most_published_totals_are_near() -> None:
    """Of the 157 models of the catalogue 103 come within half a per cent of their published total."""
    assert sorted(path.stem for path in DATA.glob("*.yaml")) == [case["id"] for case in CASES]
    assert (157, 54) == (len(CASES), sum("reason" in case for case in CASES))


def test_every_case_states_its_source() -> None:
    """No total is expected without the document it was read in."""
    assert [] == [case["id"] for case in CASES if not case["source"]]
