"""Groups of other servers on the fabrics of a cluster."""

from __future__ import annotations

from typing import Any

from bomgen import build

PLAN = """
bomgen: 1
name: x
cluster:
  server: dgx-h200
  servers: 53
  groups:
  - {name: h100, server: dgx-h100, servers: 48}
  - {name: rtx, gpu: rtx-pro-6000-bse, server: dell-xe7745-rtx-pro-6000, servers: 24, fabrics: [compute]}
fabrics: {compute: {topology: fat-tree, switch: qm9700}, in_band: default}
existing: {dgx-h100: 48}
quote: {charges: [{kind: support, per: gpu, price: 1}, {kind: training, per: server, price: 1}]}
"""


def lines(data: dict[str, Any]) -> dict[str, int]:
    """The pieces of each line of the bill."""
    return {line["id"]: line["quantity"] for line in data["lines"]}


def test_groups_have_ports_on_the_fabrics_that_they_join() -> None:
    """Eight of each DGX, four SuperNICs of an XE7745; two ports in-band of each server that joins it."""
    data = build(PLAN).data
    assert data["fabrics"]["compute"]["endpoints"] == 53 * 8 + 48 * 8 + 24 * 4
    one = build(PLAN.replace("fabrics: [compute]", "fabrics: [compute, in_band]")).data
    assert one["fabrics"]["in_band"]["endpoints"] - data["fabrics"]["in_band"]["endpoints"] == 24 * 2


def test_groups_are_billed_with_their_nics_but_what_exists_is_not() -> None:
    """The NICs of an XE7745 are selected with its order; charges count the servers that are offered."""
    data = build(PLAN).data
    billed = lines(data)
    assert billed["compute.management.rtx"] == 24
    assert billed["compute.nic.rtx"] == 24 * 4
    assert not any("h100" in id for id in billed)
    charges = [line["quantity"] for line in data["lines"] if line["category"] in ("support", "service")]
    assert charges == [424, 53]


def test_links_of_existing_groups_to_existing_switches_exist() -> None:
    """A leaf of the design has 32 links down; eleven leaves have 704 ports for the 384 of the H100."""
    existing = "existing: {dgx-h100: 48, qm9700: 12}"
    billed = lines(build(PLAN.replace("existing: {dgx-h100: 48}", existing)).data)
    assert billed["compute.cable.server-leaf"] == 53 * 8 + 24 * 4


def test_the_size_of_the_cluster_is_its_own() -> None:
    """GPUs and servers of groups are not part of it."""
    cluster = build(PLAN).data["cluster"]
    assert (cluster["gpus"], cluster["servers"]) == (424, 53)


def test_racks_of_an_existing_group_are_not_offered() -> None:
    """48 DGX H100 of 10.2 kW take at least twelve racks of 40 kW; the racks of the cluster itself stay."""
    site = PLAN + "site: {}\n"
    some = lines(build(site).data)
    every = lines(build(site.replace("existing: {dgx-h100: 48}\n", "")).data)
    assert every["rack.management"] - some["rack.management"] >= 48 // 4
    assert every["rack.compute"] == some["rack.compute"]
