"""The power that a cage gives its module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors

Built = Callable[[Mapping[str, Any]], dict[str, Any]]


def plan(watts: str | None, **links: Any) -> dict[str, Any]:
    """DGX H100 on switches like a QM9700 whose cages give so much power."""
    switch = {"ports": 64, "port_gbps": 400, "ports_per_cage": 2, "cage": "osfp-finned", "protocol": "ethernet"}
    if watts:
        switch["cage_power"] = watts
    fabric = {"switch": switch, "links": {"server-leaf": {"length": "20 m", **links}}}
    return {
        "bomgen": 1,
        "name": "power",
        "cluster": {"gpu": "h100-sxm", "servers": 8},
        "fabrics": {"compute": fabric},
    }


def chosen(bom: Mapping[str, Any]) -> dict[str, Any]:
    """How the links of the servers are built."""
    found: dict[str, Any] = bom["fabrics"]["compute"]["links_chosen"]["server-leaf"]
    return found


@pytest.mark.parametrize(
    ("watts", "module"),
    [(None, "mma4z00-ns"), ("17 W", "mma4z00-ns"), ("16 W", "mma4z00-ns-t"), ("15 W", "mma4z00-ns-t")],
)
def test_a_module_draws_no_more_than_its_cage_gives(built: Built, watts: str | None, module: str) -> None:
    """MMA4Z00-NS draws 17 W, its Ethernet sister 15 W; what a cage gives is not always known."""
    assert module in chosen(built(plan(watts)))["parts"]


def test_a_cage_that_gives_too_little_has_no_module(built: Built) -> None:
    """The report names the modules that would fit but for their power."""
    bom = built(plan("14 W"))
    assert chosen(bom)["way"] != "multimode"
    others = {other["way"]: other for other in chosen(bom)["others"]}
    assert others["multimode"]["reason"] == "power"
    assert "MMA4Z00-NS-T" in others["multimode"]["detail"]


def test_a_module_that_is_named_is_refused(built: Built) -> None:
    """By its name, with both figures."""
    with pytest.raises(PlanErrors) as refused:
        built(plan("15 W", medium="transceiver", module={"leaf": "mma4z00-ns"}))
    [problem] = refused.value.problems
    assert problem.rule == "power"
    assert "mma4z00-ns draws 17 W, but the cage limit on" in problem.message
    assert "is 15 W" in problem.message


def test_planning_parts_are_never_refused(built: Built) -> None:
    """They stand for whatever fits."""
    bom = built(plan("5 W", medium="transceiver", module="generic-400g"))
    assert chosen(bom)["parts"][0] == "generic-400g"
