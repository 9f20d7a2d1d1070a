"""Network, PCIe and neighbours of a GPU, one beside the other."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from bomgen.catalog.parts import parse_pcie
from bomgen.core.provenance import Cited
from bomgen.results.result import Report

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]

PLANS = Path(__file__).parent.parent.parent / "plans"
RULE = "nic-ratio"


def plan(gpu: Any, nics: int, gbps: int = 400, **fabric: Any) -> dict[str, Any]:
    """Servers of eight GPUs with so many NICs."""
    return {
        "bomgen": 1,
        "name": "ratio",
        "cluster": {"gpu": gpu, "server": {"gpus": 8, "nics": nics, "port_gbps": gbps}, "servers": 4},
        "fabrics": {"compute": {"switch": "qm9700"} | fabric},
    }


def told(report: Report) -> list[str]:
    """What the reader is told of network and PCIe."""
    return [problem.message for problem in report.problems if problem.rule == RULE]


def test_two_a100_behind_one_nic(built: Built, worked: Worked) -> None:
    """DCPTX on LLaMA-65B, Alibaba Cloud article 1534175: two share a 400G NIC, whose PCIe 4.0 slot carries 256 Gb/s.

    An A100's NVLink is 600 GB/s, 12 links of 25 GB/s each way: 2400 Gb/s one way.
    """
    described = yaml.safe_load((PLANS / "llama65b.yaml").read_text(encoding="utf-8"))
    assert {"network_gbps": 128, "pcie_gbps": 256, "scale_up_gbps": 2400} == (
        built(described)["fabrics"]["compute"]["per_gpu"]
    )
    assert [] == told(worked(described))


def test_an_a100_does_not_fill_a_nic_of_400g(worked: Worked) -> None:
    """One A100 at 256 Gb/s behind a link of 400G of its own: the network is faster than its PCIe."""
    (message,) = told(worked(plan("a100-sxm-80", 8)))
    assert "provides 400 Gb/s per GPU, but the PCIe of A100 SXM4 80GB carries only 256 Gb/s" in message


@pytest.mark.parametrize(
    ("gpu", "nics", "gbps", "warned"),
    [
        ("h100-sxm", 8, 400, False),
        ("h100-sxm", 4, 400, True),
        ("a100-sxm-80", 4, 400, False),
        ("a100-sxm-80", 8, 200, False),
        ("a100-sxm-80", 2, 400, True),
        ("a100-pcie-40", 1, 200, True),
        ("gb200", 8, 400, False),
        ({"name": "G", "bf16_tflops": 100, "pcie": "PCIe 3.0 x8"}, 8, 100, True),
        ({"name": "G", "bf16_tflops": 100, "pcie": "PCIe 3.0 x16"}, 8, 100, False),
        ({"name": "G", "bf16_tflops": 100}, 1, 100, False),
    ],
)
def test_who_starves_whom(gpu: Any, nics: int, gbps: int, warned: bool, worked: Worked) -> None:
    """A warning where the network is faster than PCIe, or slower than half of it; none where PCIe is not known."""
    assert warned == bool(told(worked(plan(gpu, nics, gbps))))


@pytest.mark.parametrize(
    ("text", "gbps"),
    [
        ("PCIe 3.0 x16", 128),
        ("PCIe 4.0 x16", 256),
        ("PCIe 5.0 x16", 512),
        ("PCIe 6.0 x16", 1024),
        ("PCIe Gen5 x8", 256),
        ("pcie 4 x16", 256),
        ("PCIe 6.0 x16 to NIC; NVLink-C2C to Grace", None),
        ("NVLink-C2C", None),
    ],
)
def test_pcie_as_written(text: str, gbps: int | None) -> None:
    """PCI-SIG base specifications: 8, 16, 32 and 64 GT/s a lane in generations 3 to 6, each transfer a bit."""
    found = parse_pcie(text, Cited("a GPU", (), "high"))
    assert gbps == (None if found is None else found.value)


def test_only_a_compute_fabric_is_compared(built: Built) -> None:
    """Storage and management networks carry other traffic."""
    asked = plan("h100-sxm", 8)
    asked["fabrics"]["storage"] = {"switch": "qm9700", "ports_per_server": 2, "link": "200G", "nic": "cx7-400-osfp"}
    fabrics = built(asked)["fabrics"]
    assert ("per_gpu" in fabrics["compute"], "per_gpu" in fabrics["storage"]) == (True, False)


def test_unknown_rates_are_left_out(built: Built) -> None:
    """A GPU of which only the peak is known has a share of the network, and nothing is invented beside it."""
    assert {"network_gbps": 400} == built(plan({"bf16_tflops": 100}, 8))["fabrics"]["compute"]["per_gpu"]


def test_planes_divide_a_port_and_not_the_network(built: Built) -> None:
    """Eight NICs of 400G split over two planes are still 400 Gb/s a GPU, in links of 200."""
    compute = built(plan("h100-sxm", 8, planes=2))["fabrics"]["compute"]
    assert (200, 400) == (compute["link_gbps"], compute["per_gpu"]["network_gbps"])


def test_rails_have_the_same_share(built: Built) -> None:
    """How NICs are spread over leaves changes nothing of what a GPU has."""
    for topology in ("rail-optimized", "rail-only"):
        compute = built(plan("h100-sxm", 8, topology=topology))["fabrics"]["compute"]
        assert 400 == compute["per_gpu"]["network_gbps"]
