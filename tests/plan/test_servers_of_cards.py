"""Servers of cards: a chassis is ordered with one card up to as many as it has slots, the same number in each."""

from __future__ import annotations

from typing import Any

import pytest

from bomgen import PlanErrors, build, check
from bomgen.catalog.files import Catalog
from bomgen.catalog.part_records import server

PLAN = "bomgen: 1\nname: x\nquote: {price_book: indicative, currency: USD}\ncluster: {gpu: l40s, %s}\n"


def line(data: dict[str, Any], category: str) -> dict[str, Any]:
    """The only line of a category."""
    (found,) = (line for line in data["lines"] if line["category"] == category)
    return dict(found)


@pytest.mark.parametrize(("gpus", "servers"), [(1, 1), (2, 1), (7, 1), (8, 1), (10, 2), (12, 2), (16, 2), (21, 3)])
def test_gpus_are_shared_equally_by_the_fewest_servers(gpus: int, servers: int) -> None:
    """Of at most eight cards each."""
    cluster = build(PLAN % f"gpus: {gpus}").data["cluster"]
    assert (cluster["gpus"], cluster["servers"]) == (gpus, servers)


@pytest.mark.parametrize(
    ("workload", "gpus", "servers"),
    [
        ("compute: {target: 3 PFLOPS}", 10, 2),
        ("fine_tuning: {model: llama-3.1-8b, method: lora, rank: 16, tokens: 400M, target_days: 1}", 2, 1),
        ("inference: {model: llama-3.1-70b, precision: fp8, context: 2500, concurrency: 15}", 2, 1),
    ],
)
def test_cards_follow_the_workload(workload: str, gpus: int, servers: int) -> None:
    """As few as carry it, equally many in each of the servers that whole chassis would take."""
    plan = PLAN.replace(", %s", "") + f"workload: {{{workload}}}\n"
    cluster = build(plan).data["cluster"]
    assert (cluster["gpus"], cluster["servers"]) == (gpus, servers)
    assert build(plan.replace("l40s", "l40s, round_up_to: server")).data["cluster"]["gpus"] == 8 * servers


def test_power_weight_and_price_follow_the_cards() -> None:
    """A PowerEdge XE7745 (68.5 kg with eight cards) with three RTX PRO 6000 of 600 W and 1.1 kg."""
    part = "server: {part: dell-xe7745-rtx-pro-6000, gpus: %d}, servers: 2"
    text = PLAN.replace("l40s", "rtx-pro-6000-bse") + "site: {}\n"
    full, some = (build(text % (part % count)).data for count in (8, 3))
    assert full["cluster"]["power_w"] - some["cluster"]["power_w"] == 2 * 5 * 600
    assert full["site"]["weight_kg"] - some["site"]["weight_kg"] == pytest.approx(2 * 5 * 1.1)
    assert line(full, "server")["part"] == "dell-xe7745-rtx-pro-6000"
    assert line(some, "server")["part"] == "dell-xe7745-rtx-pro-6000-chassis"
    assert float(line(some, "server")["unit_price"]) < float(line(full, "server")["unit_price"])
    assert line(some, "gpu")["quantity"] == 6


def test_nics_selected_with_the_order_follow_the_cards() -> None:
    """NVIDIA's 2-8-5-200 and 2-4-3-200: a SuperNIC for two cards; named ones stay."""
    fabric = "fabrics: {compute: {switch: sn5600, topology: fat-tree}}\n"
    part = "server: {part: dell-xe7740-l40s, gpus: 4%s}, servers: 4"
    assert build(PLAN % (part % "") + fabric).data["cluster"]["nics"] == 4 * 2
    named = ", nics: {compute: {part: bf3-b3140h, count: 4}}"
    assert build(PLAN % (part % named) + fabric).data["cluster"]["nics"] == 4 * 4


def test_components_are_lines_with_their_own_pieces() -> None:
    """Two CPUs in each of three servers and of a spare one, which has a card, too; text stays with the server."""
    parts = "cpu: [{name: Xeon 6767P, count: 2, part_number: P-6767}], memory: 16 x 64 GB DDR5"
    ordered = f"server: {{part: dell-xe7740-l40s, gpus: 1, {parts}}}, servers: 3, spare_servers: 1"
    data = build(PLAN % ordered).data
    (cpus,) = (line for line in data["lines"] if line["id"] == "server.cpu.1")
    assert (cpus["quantity"], cpus["spare"], cpus["sku"]) == (6, 2, "P-6767")
    assert (line(data, "gpu")["quantity"], line(data, "gpu")["spare"]) == (3, 1)


def test_what_is_not_published_is_to_be_confirmed() -> None:
    """NVIDIA prints servers with four cards, none with two."""
    two, four = (check(PLAN % f"gpus: {count}") for count in (2, 4))
    assert ["unpublished-gpus" in {problem.rule for problem in found} for found in (two, four)] == [True, False]


def test_every_chassis_takes_its_usual_number_of_cards() -> None:
    """Its slots hold the usual and all published numbers; nine do not divide over two."""
    catalog = Catalog()
    chassis = [part for id in catalog.ids("server") if (part := server(catalog.find("server", id))).gpu_slots]
    assert len(chassis) > 30
    for part in chassis:
        assert max(part.gpus.value, *part.published_gpus, 0) <= part.gpu_slots.value
    with pytest.raises(PlanErrors):
        build(PLAN % "gpus: 9")


@pytest.mark.parametrize(("gpus", "servers"), [(9, 1), (10, 1), (11, 2)])
def test_a_chassis_is_filled_to_its_slots_before_another_is_added(gpus: int, servers: int) -> None:
    """Ten slots, of which eight are usual: nine cards for the workload are in one chassis."""
    workload = {"compute": {"target": f"{312 * gpus - 10} TFLOPS", "precision": "bf16"}}
    built = build({"bomgen": 1, "name": "x", "cluster": {"gpu": "a100-pcie-40"}, "workload": workload})
    assert built.data["cluster"]["servers"] == servers
    assert built.data["cluster"]["gpus"] == -(-gpus // servers) * servers


@pytest.mark.parametrize(
    ("part", "gpu", "key", "count", "why"),
    [
        ("dell-xe9785", "mi355x", "memory", 32, "has 24 memory slots"),
        ("dell-xe9780-b300", "b300-sxm", "nvme", 20, "has 16 drive bays"),
        ("dell-xe9685l", "b200-sxm", "cpu", 4, "has 2 CPU sockets"),
    ],
)
def test_parts_beyond_the_slots_of_a_server_do_not_fit(part: str, gpu: str, key: str, count: int, why: str) -> None:
    """As the data sheet of the maker says."""
    server = {"part": part, key: [{"name": "part", "count": count}]}
    with pytest.raises(PlanErrors, match=f"{count} pieces do not fit because .* {why}"):
        build({"bomgen": 1, "name": "x", "cluster": {"gpu": gpu, "servers": 2, "server": server}})
