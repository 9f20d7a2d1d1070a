"""The installation pack: versions to agree on, tests with the numbers of the design, and the port map."""

from __future__ import annotations

import re
from functools import cache

from bomgen.workflow.library import build


@cache
def report(plan: str) -> str:
    """The report of a plan in Markdown, from its acceptance chapter on."""
    text = build(f"plans/{plan}.yaml").files("report.md")["report.md"].decode()
    return text.partition("## Acceptance" if "## Acceptance" in text else "## 验收")[2]


def test_targets_are_the_numbers_of_the_design() -> None:
    """127 servers of 8 links; 4 reserved ports have no cable; a leaf of 32 links takes one of the 8 of a server."""
    tests = report("superpod-h100-floor")
    assert "| Compute network: Links: server-leaf | 1,016 links | `ibdiagnet`: all links up" in tests
    assert "| Compute network: bit error rate of each link after correction, below | 1 × 10⁻¹² |" in tests
    assert re.search(r"a server loses with one leaf, at most \| 12.5 % \| switch off one leaf", tests)
    assert re.search(r"Maximum power of a full compute rack \| 40.8 kW \| all GPUs at full load", tests)


def test_ethernet_has_no_tool_of_infiniband() -> None:
    """A plan without InfiniBand is measured at its switches, and its predictions are targets with their range."""
    tests = report("deepseek-r1-h20-zh").partition("\n## ")[0]
    assert "ibdiagnet" not in tests
    assert "子网管理器" not in tests
    assert re.search(r"首 token 时延.*\| 约 .*估算值", tests)


def test_an_installation_pack_has_every_cable_and_no_price() -> None:
    """16 + 10 + 12 cables, each a row with both ends."""
    page = build("plans/llama65b-quote.yaml").files("install.html")["install.html"].decode()
    assert not re.search(r"[0-9] USD|USD\)", page)
    assert "Tests and targets" in page
    small = build("plans/deepseek-r1-h20-zh.yaml").files("install.html")["install.html"].decode()
    ports = small.partition('id="table-ports"')[2]
    assert ports.count("<tr>") - 1 == 34
