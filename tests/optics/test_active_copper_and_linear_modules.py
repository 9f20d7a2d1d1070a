"""Retimed copper cables (AEC), and modules without a DSP (LPO) or with one in the transmitter only (LRO)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from bomgen.results.result import Report

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]


def plan(link: Mapping[str, Any], switch: str = "sn5600") -> dict[str, Any]:
    """Eight servers on one switch, with one kind of link."""
    server = {"name": "server", "gpus": 8, "nics": 8, "nic": "cx7-400-osfp"}
    compute = {"topology": "single-switch", "switch": switch, "links": {"server-leaf": link}}
    cluster = {"gpu": "b200-sxm", "servers": 8, "server": server}
    return {"bomgen": 1, "name": "small", "cluster": cluster, "fabrics": {"compute": compute}}


@pytest.mark.parametrize(
    ("link", "way"),
    [
        ({"medium": "aec", "length": "5 m"}, "aec"),
        ({"prefer": "copper", "length": "7 m"}, "aec"),
        ({"prefer": "copper", "length": "3 m"}, "dac"),
        ({"length": "5 m"}, "multimode"),
        ({"prefer": "copper", "length": "8 m"}, "multimode"),
    ],
)
def test_an_aec_is_taken_where_asked_for(built: Built, link: Mapping[str, Any], way: str) -> None:
    """By name, or where copper is preferred and no other reaches; not by default, and not beyond 7 m."""
    compute = built(plan(link))["fabrics"]["compute"]
    assert compute["links_chosen"]["server-leaf"]["way"] == way
    pieces = compute["cables"]["server-leaf"]
    assert sum(pieces.values()) == (32 if way in ("aec", "dac") else 64)


def test_an_aec_in_a_switch_of_another_maker_is_warned_of(worked: Worked) -> None:
    """As a module is."""
    found = worked(plan({"medium": "aec", "length": "5 m"}))
    assert [problem for problem in found.problems if problem.rule == "foreign-module"]


def test_a_linear_module_is_taken_only_by_name(built: Built, worked: Worked) -> None:
    """By default the modules between the switches have a DSP; one that is named without brings one warning."""
    switches = {"topology": "fat-tree", "switch": "7060x6-64pe", "links": {"leaf-spine": {"length": "100 m"}}}
    whole = plan({})
    whole["cluster"]["servers"] = 32
    whole["fabrics"]["compute"] = switches
    chosen = built(whole)["fabrics"]["compute"]["links_chosen"]["leaf-spine"]["parts"]
    assert not [part for part in chosen if part.startswith("lpo-")]
    switches["links"]["leaf-spine"]["module"] = "lpo-800g-2dr4"
    report = worked(whole)
    assert [problem.rule for problem in report.problems].count("linear-module") == 1
