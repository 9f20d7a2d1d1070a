"""Branches that no example plan takes: what each gives, by hand or from a publication."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from importlib import import_module
from typing import Any

import pytest

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.provenance import require
from bomgen.fabric import ports
from bomgen.fabric.clos import search
from bomgen.fabric.topologies import dragonfly as dragonfly_search

Built = Callable[[Mapping[str, Any]], dict[str, Any]]

DGX_H100 = {"gpu": "h100-sxm", "server": "dgx-h100"}
EXPERTS = {"parameters": "100B", "active_parameters": "10B", "experts": 8}
SHAPE = {"layers": 32, "hidden": 4096, "heads": 32, "vocab": 32000, "ffn": 14336}
TUNING = {"model": "llama-3.1-70b", "method": "lora", "rank": 16, "tokens": "50M", "epochs": 3, "target_days": 1}


def test_what_is_not_known_is_an_error_of_the_program() -> None:
    """A value goes through, none is refused with what it would be."""
    assert Fraction(1, 3) == require(Fraction(1, 3), "no third")
    with pytest.raises(ValueError, match="no third"):
        require(None, "no third")


@pytest.mark.parametrize(("gpu", "sides"), [("tpu-v5e", {"x": 8, "y": 8}), ("tpu-v5p", {"x": 4, "y": 4, "z": 4})])
def test_slices_smaller_than_a_pod_are_cubic(gpu: str, sides: dict[str, int], built: Built) -> None:
    """64 chips: v5litepod-64 is 8x8, v5p-128 (64 chips of two cores) is 4x4x4 (Google Cloud, TPU v5e and v5p)."""
    plan = {
        "bomgen": 1,
        "name": "slice",
        "cluster": {"gpu": gpu, "gpus": 64},
        "fabrics": {"compute": {"topology": "torus"}},
    }
    assert sides == built(plan)["fabrics"]["compute"]["dimensions"]


def test_ports_of_two_kinds_do_not_share_cages(built: Built) -> None:
    """An SN2201 has 48 ports of 1 Gb/s and 4 of 100 Gb/s (its data sheet): 128 ports need 3 leaves, an uplink each."""
    ports = {"nic": {"ports": 2, "port_gbps": 1}, "ports_per_server": 2, "link": "1G", "tiers": 2}
    tiers = {"leaf": {"switch": "sn2201"}, "spine": {"switch": "sn4600c"}, "links": {"leaf-spine": {"rate": "100G"}}}
    plan = {
        "bomgen": 1,
        "name": "a",
        "cluster": {**DGX_H100, "servers": 64},
        "fabrics": {"in_band": {**ports, **tiers}},
    }
    fabric = built(plan)["fabrics"]["in_band"]
    assert (fabric["switches"]["leaf"], fabric["switches"]["spine"]) == (3, 1)
    assert (fabric["links"]["server-leaf"], fabric["links"]["leaf-spine"]) == (128, 3)


@pytest.mark.parametrize(
    ("role", "fabric", "formula"),
    [
        ("compute", {"switch": "qm9700", "build_out": "full"}, "ceil(radix / (1 + oversubscription))"),
        (
            "out_of_band",
            {
                **{"leaf": {"switch": "sn2201"}, "spine": {"switch": "sn4600c"}},
                **{"nic": {"ports": 1, "port_gbps": 1}, "link": "1G", "links": {"leaf-spine": {"rate": "100G"}}},
            },
            "ceil(radix * down_gbps / (oversubscription * up_gbps))",
        ),
    ],
)
def test_links_up_share_the_ports_of_a_leaf_or_have_their_own(
    role: str, fabric: Mapping[str, Any], formula: str, built: Built
) -> None:
    """Of ports of one kind as many face up as the ratio asks; ports of their own carry the bandwidth of those down."""
    cluster = {**DGX_H100, "servers": 48}
    bom = built({"bomgen": 1, "name": "a", "cluster": cluster, "fabrics": {role: {**fabric, "tiers": 2}}})
    assert formula == bom["derivations"][f"fabrics.{role}.ports.leaf.up"]["formula"]


def test_full_recomputation_of_adapters_is_another_forward_pass(built: Built) -> None:
    """Two FLOPs more for each parameter and adapter, a token (Korthikanti et al. 2022, section 5: 8N instead of 6N)."""
    plan = {
        "bomgen": 1,
        "name": "a",
        "workload": {"fine_tuning": {**TUNING, "recompute": "full"}},
        "cluster": DGX_H100,
    }
    run = built(plan)["workload"]
    works = run["active_parameters"] + run["trainable_parameters"]
    assert 2 * works * 3 * 50_000_000 == run["hardware_flops"] - run["flops"]


def test_a_convolution_gets_no_adapter(built: Built) -> None:
    """Adapters sit on linear maps (Hu et al. 2021, section 4), and a convolution before a state is none."""
    state = {"linear_layers": 24, "linear_key_heads": 8, "linear_key_head_dim": 64}
    state |= {"linear_value_heads": 16, "linear_value_head_dim": 32}
    shape = {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "vocab": 32000, **state}

    def adapters(**keys: int) -> int:
        tuning = {**TUNING, "model": {"name": "M", **shape, **keys}}
        plan = {"bomgen": 1, "name": "a", "workload": {"fine_tuning": tuning}, "cluster": DGX_H100}
        return int(built(plan)["workload"]["trainable_parameters"])

    assert adapters() == adapters(linear_conv_kernel=4)


def test_experts_of_an_unknown_router_leave_activations_open(built: Built) -> None:
    """How many experts a token visits is needed to count what a layer keeps; the states are known without."""
    training = {"model": {"name": "M", **EXPERTS, **SHAPE}, "tokens": "1T", "target_days": 20, "sequence": 4096}
    plan = {"bomgen": 1, "name": "a", "workload": {"training": training}, "cluster": DGX_H100}
    memory = built(plan)["workload"]["memory"]
    assert "activations" not in memory["per_gpu"]
    assert memory["total"] == 18 * 100_000_000_000


def test_a_prompt_costs_its_attention_where_heads_are_known(built: Built) -> None:
    """Without the heads a prompt is the arithmetic of its weights, and nothing else (Pope et al. 2022, section 2)."""

    def terms(model: dict[str, Any]) -> dict[str, float]:
        asked = {"precision": "fp16", "context": 2048, "concurrency": 4, "output_tokens": 512}
        serving = {"model": {"name": "X", "parameters": "7B", **model}, **asked}
        plan = {"bomgen": 1, "name": "a", "workload": {"inference": serving}, "cluster": DGX_H100}
        return dict(built(plan)["workload"]["serving_terms"])

    shape = {"layers": 32, "hidden": 4096, "kv_heads": 8, "head_dim": 128}
    without, with_heads = terms(shape), terms({**shape, "heads": 32})
    assert "prompt_attention" not in without
    assert with_heads["prompt_attention"] > 0
    assert without["prompt_arithmetic"] == with_heads["prompt_arithmetic"]


def test_rounding_that_does_not_settle_is_said(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whole leaves are found in few rounds; where they were not, the plan is told to give servers itself."""
    monkeypatch.setattr(import_module("bomgen.sizing.servers"), "MAX_ROUNDS", 0)
    plan = {
        "bomgen": 1,
        "name": "a",
        "workload": {"compute": {"target": "100 PFLOPS", "precision": "bf16"}},
        "cluster": {**DGX_H100, "round_up_to": "leaf"},
        "fabrics": {"compute": {"switch": "qm9700"}},
    }
    with pytest.raises(PlanErrors, match=r"does not settle; set `round_up_to: \{servers: n\}`"):
        built(plan)


@pytest.mark.parametrize("asked", [{}, {"tiers": 3}, {"tiers": 3, "reserved_ports": 3}, {"reserved_ports": 40}])
def test_a_search_that_is_cut_short_finds_nothing_smaller(
    asked: dict[str, Any], built: Built, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is found before the steps are over carries the demand, with as many switches as the smallest or more."""
    fabric = {"switch": {"ports": 32, "port_gbps": 400}, **asked}
    plan = {"bomgen": 1, "name": "a", "cluster": {**DGX_H100, "servers": 60}, "fabrics": {"compute": fabric}}

    def switches() -> int | None:
        search._search.cache_clear()
        with suppress(PlanErrors):
            return int(sum(built(plan)["fabrics"]["compute"]["switches"].values()))
        return None

    smallest = switches()
    found = []
    for steps in (0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 1000):
        monkeypatch.setattr(search, "MAX_STEPS", steps)
        found.append(switches())
    search._search.cache_clear()
    assert smallest is not None
    assert found[0] is None
    assert found[-1] == smallest
    assert [count for count in found if count is not None and count < smallest] == []


def test_a_link_that_takes_several_cages() -> None:
    """16 cages with 16 ports at one rate or 8 at another: two links of the other take four, and twelve are left."""
    assert (
        dragonfly_search.ports_left_for_endpoints(radix=16, local_radix=8, global_radix=16, cages=16, local=2, outer=2)
        == 12 - 2
    )


def test_links_down_that_take_several_cages() -> None:
    """16 cages with 8 ports at one rate or 16 at another: four links of the other leave twelve, for six of the one."""
    assert (
        dragonfly_search.ports_left_for_endpoints(radix=8, local_radix=16, global_radix=16, cages=16, local=2, outer=2)
        == 6
    )
    assert ports.ports_left_down(up=4, radix=8, up_radix=16, cages=16) == 6


def test_ports_that_have_no_links_of_a_rate(built: Built) -> None:
    """Of two groups of ports one says 0 of 400G: links of 400G have the eight ports of the other."""
    groups = [{"ports": 64, "port_gbps": 400, "modes": {"400G": 0}}, {"ports": 8, "port_gbps": 400}]
    fabrics = {"compute": {"switch": {"port_groups": groups}}}
    bom = built({"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": 1}, "fabrics": fabrics})
    assert bom["fabrics"]["compute"]["ports"]["leaf"]["radix"] == 8


def test_a_plug_of_a_link_that_takes_several_cages(built: Built) -> None:
    """32 links of 400G on 64 cages: each is plugged into one cage, with the parts that 64 such links have."""
    switch = {"ports": 64, "port_gbps": 400, "cage": "qsfp-dd"}

    def parts(**more: Any) -> list[str]:
        fabrics = {"compute": {"nic": "thor2-400", "switch": switch | more}}
        bom = built({"bomgen": 1, "name": "x", "cluster": {"gpu": "h100-sxm", "servers": 2}, "fabrics": fabrics})
        return [line["part"] for line in bom["lines"] if line["category"] in ("transceiver", "cable")]

    assert parts(modes={"400G": 32}) == parts() != []


def test_a_cluster_that_is_never_large_enough_is_refused(built: Built, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sizes are tried so many times; where none does, the plan is told so."""
    monkeypatch.setattr("bomgen.sizing.cluster_size.MAX_ROUNDS", 0)
    training = {"model": "llama-2-7b", "tokens": "2T", "target_days": 20, "goodput": "estimate"}
    plan = {"bomgen": 1, "name": "a", "workload": {"training": training}, "cluster": DGX_H100}
    with pytest.raises(PlanErrors, match="no cluster size meets the target"):
        built(plan)
