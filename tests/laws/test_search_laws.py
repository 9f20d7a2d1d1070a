"""The law of searches: designs in columns come to what each of them comes to when it is worked out alone."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from depth import DEEP
from written_plans import plan_file

from bomgen.results.designs import Columns
from bomgen.workflow.design_search import DesignByDesign, SearchRequest, inputs_of, open_search
from bomgen.workflow.design_tables import DesignTables

SPACES, OF_SPACE = 8, 6
"""Spaces that are drawn every day, and designs of each that are worked out; at length 200 times 50."""
SERVERS = {
    "ib": ("a100-sxm-80", "h100-sxm", "h200-sxm", "b200-sxm"),
    "ethernet": ("h100-sxm", "b200-sxm", "b300-sxm", "mi300x", "l40s", "h20"),
}
SWITCHES = {
    "ib": ("qm9700", "qm8700", "q3400-ra"),
    "ethernet": ("sn5600", "sn5610", "sn4600c", "7060x6-64pe", "7060dx5-64s", "sn3700"),
}
SIDE_SWITCHES = (*SWITCHES["ethernet"], "qfx5140-24cd8o", "h3c-s9825-64d")
"""Of storage: some whose links between switches need fewer of them at a rate above that of the servers."""
MODELS = ({"name": "llama-3.1-70b"}, {"name": "Model", "parameters": "30B"}, {"name": "mixtral-8x7b"})
PRICES = "part,price,currency,from_quantity\n{}"


def draw_space(draw: Random) -> tuple[dict[str, Any], dict[str, list[Any]]]:
    """A plan, and the values of keys that a search varies."""
    kind = draw.choice(list(SERVERS))
    compute: dict[str, Any] = {"topology": "fat-tree", "switch": draw.choice(SWITCHES[kind])}
    plan: dict[str, Any] = {
        "bomgen": 1,
        "name": "law",
        "workload": {"training": {"model": draw.choice(MODELS), "tokens": "600B", "mfu": "40%"}},
        "cluster": {"gpu": draw.choice(SERVERS[kind]), "servers": 4},
        "fabrics": {"compute": compute},
        "quote": {"currency": "USD", "price_book": ["prices.csv"]},
    }
    if draw.random() < 0.4:
        plan["fabrics"]["storage"] = {"topology": "fat-tree", "switch": draw.choice(SIDE_SWITCHES)}
        if draw.random() < 0.6:
            plan["fabrics"]["storage"]["link"] = "100G"
    if draw.random() < 0.3:
        plan["site"] = {"rack": {"power": draw.choice(("15 kW", "40 kW", "130 kW"))}}
    if draw.random() < 0.3:
        plan["spares"] = {"transceiver": "2%", "cable": "3%", "switch": 1}
    if draw.random() < 0.3:
        plan["quote"] |= {"tax": "19%", "discount": {"default": "7%", "switch": "31%"}}
    if draw.random() < 0.3:
        plan["quote"]["charges"] = [
            {"kind": "installation", "per": "server", "price": 120},
            {"kind": "support", "share": "4%", "years": 3},
        ]
    if draw.random() < 0.2:
        plan["cluster"]["spare_servers"] = 1
    over: dict[str, list[Any]] = {
        "cluster.servers": sorted(draw.sample(range(1, draw.choice((12, 80, 700, 2500))), 8)),
        "cluster.gpu": list(draw.sample(SERVERS[kind], 2)),
        "fabrics.compute.topology": list(draw.sample(("fat-tree", "rail-optimized", "rail-only"), 2)),
        "fabrics.compute.switch": list(draw.sample(SWITCHES[kind], 2)),
    }
    more = {
        "fabrics.compute.oversubscription": [1, 2, 3],
        "fabrics.compute.planes": [1, 2],
        "fabrics.compute.rails_per_leaf": [1, 2, 4],
        "fabrics.compute.build_out": ["exact", "full"],
        "fabrics.compute.scalable_unit": [8, 16],
        "fabrics.compute.homing": ["single", "dual"],
        "fabrics.compute.tiers": [2, 3],
        "fabrics.compute.split_servers": [True, False],
        "fabrics.compute.links.server-leaf.medium": ["aoc", "dac", "auto"],
        "fabrics.compute.links.leaf-spine.length": ["3 m", "30 m", "150 m"],
        "fabrics.compute.links.leaf-spine.rate": ["400G", "800G"],
        "fabrics.compute.gpus_per_nic": [1, 2],
        "fabrics.compute.spine.switch": list(SWITCHES[kind][:2]),
        "workload.training.recompute": ["auto", "full", "none"],
        "workload.training.precision": ["bf16", "fp8"],
        "workload.training.tokens": ["300B", "1.2T"],
        "workload.training.mfu": ["35%", "predicted"],
        "quote.discount.switch": ["5%", "12.5%"],
    }
    for key in draw.sample(sorted(more), draw.randint(1, 4)):
        over[key] = more[key]
    if draw.random() < 0.2:
        del plan["cluster"]["servers"], over["cluster.servers"]
        over["workload.training.target_days"] = ["20 days", "45 days", "90 days"]
    elif draw.random() < 0.2:
        del plan["cluster"]["servers"]
        over["cluster.gpus"] = [8 * count for count in over.pop("cluster.servers")] + [12]
    return plan, over


def price_list(draw: Random) -> str:
    """Prices for most of the parts, with price breaks for some."""
    from bomgen.catalog.files import Catalog

    lines = []
    for kind in ("server", "switch", "transceiver", "cable", "nic"):
        for record in Catalog().all(kind):
            if draw.random() < 0.93:
                price = draw.randint(10_000, 40_000_000) / 100
                lines += [f"{record.id},{price},USD,1"]
                if draw.random() < 0.2:
                    lines += [f"{record.id},{price / 2:.2f},USD,{draw.choice((3, 40, 600))}"]
    return PRICES.format("\n".join(lines))


def describe(columns: Columns, row: int) -> dict[str, Any]:
    """What a design comes to by its columns, or that it is refused."""
    if columns.refused[row]:
        return {"refused": True}
    unpriced = columns.unpriced[row]
    return {
        name: (values[row].item() if columns.known[name][row] else None) for name, values in columns.measures.items()
    } | {"unpriced": columns.unpriced_parts[unpriced - 1] if unpriced else ()}


@pytest.mark.parametrize("seed", range(200 if DEEP else SPACES))
def test_designs_in_columns_are_those_worked_out_alone(seed: int, tmp_path: Path) -> None:
    """Of random spaces random designs, to the piece, the watt and the cent."""
    draw = Random(seed)  # noqa: S311
    plan, over = draw_space(draw)
    (tmp_path / "prices.csv").write_text(price_list(draw), encoding="utf-8")
    file = plan_file({**plan, "search": {"over": over}}, tmp_path)
    space = open_search(file)
    search = SearchRequest(file, (), space)
    tables, alone = DesignTables(inputs_of(search), space), DesignByDesign(search)
    designs = 50 if DEEP else OF_SPACE
    for place in draw.sample(range(space.size), min(designs, space.size)):
        expected = describe(alone.columns(place, place + 1), 0)
        assert describe(tables.columns(place, place + 1), 0) == expected, space.settings(place)
