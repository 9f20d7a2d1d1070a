"""bom.cdx.json: what is spare, owned, software or service; no money; hostile text; days and serial numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from bomgen.output.formats.cdx import bom_cdx
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

Worked = Callable[[Mapping[str, Any]], Report]

HOSTILE = '"}],\n<script>alert(1)</script> =HYPERLINK("x") {{ 7*7 }} \\u0000 é中'
QUOTE = {
    "currency": "USD",
    "vendor": {"name": "Example Systems", "email": "quotes@example.com"},
    "customer": {"name": "Example Research"},
    "revision": "2",
    "charges": [
        {"kind": "freight", "price": 987654},
        {"kind": "software", "name": "Cluster manager", "per": "gpu", "years": 3, "price": 876543},
    ],
}
PLAN: dict[str, Any] = {
    "bomgen": 1,
    "name": "small",
    "cluster": {"gpu": "h100-sxm", "servers": 16},
    "fabrics": {"compute": {"switch": "qm9700", "nic": "cx7-400-osfp"}},
    "spares": {"switch": 2},
    "stock": {"qm9700": 1},
    "quote": QUOTE,
}


def cdx(worked: Worked, plan: Mapping[str, Any]) -> dict[str, Any]:
    """The hardware BOM of a plan."""
    data: dict[str, Any] = json.loads(bom_cdx(worked(plan)))
    return data


def each_in(components: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Components with those inside them."""
    for component in components:
        yield component
        yield from each_in(component.get("components", []))


def by_ref(bom: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Components and services by their reference."""
    return {each["bom-ref"]: each for each in (*each_in(bom["components"]), *bom.get("services", []))}


def properties(component: dict[str, Any]) -> dict[str, str]:
    """What is said of a component by name."""
    return {each["name"]: each["value"] for each in component["properties"]}


def test_a_line_says_what_it_is_and_where(worked: Worked) -> None:
    """A switch has its maker, its numbers, its place and the documents that it is known from.

    128 ports of servers at 32 a leaf are four leaves, of which the customer has one.
    """
    leaf = by_ref(cdx(worked, PLAN))["compute.switch.leaf"]
    assert (leaf["type"], leaf["manufacturer"], leaf["name"]) == ("device", {"name": "NVIDIA"}, "QM9700")
    assert leaf["supplier"] == {"name": "Example Systems"}
    assert properties(leaf) == {
        "cdx:device:quantity": "3",
        "cdx:device:function": "network",
        "cdx:device:location": "compute / leaf",
        "cdx:device:deviceType": "switch",
        "cdx:device:sku": "MQM9700-NS2F / 920-9B210-00FN-0M0",
        "bomgen:line": "compute.switch.leaf",
        "bomgen:category": "switch",
        "bomgen:fabric": "compute",
        "bomgen:role": "leaf",
        "bomgen:part": "qm9700",
        "bomgen:part_number": "MQM9700-NS2F",
        "bomgen:ordering_number": "920-9B210-00FN-0M0",
        "bomgen:explain": properties(leaf)["bomgen:explain"],
    }
    assert "https://networking-docs.nvidia.com/qm97x0hw/specifications" in [
        each["url"] for each in leaf["externalReferences"]
    ]


def test_spare_and_owned_pieces_stand_apart(worked: Worked) -> None:
    """Spare switches are a component of their own, and so are those that the customer has; together they are all."""
    plan = PLAN | {"fabrics": {"compute": PLAN["fabrics"]["compute"] | {"topology": "rail-optimized"}}}
    found = by_ref(cdx(worked, plan))
    switches = {ref: properties(each) for ref, each in found.items() if "compute.switch" in ref}
    quantities = {ref: each["cdx:device:quantity"] for ref, each in switches.items()}
    lines = [line for line in result(worked(plan))["lines"] if line["category"] == "switch"]
    assert sum(map(int, quantities.values())) == sum(line["quantity"] + line["spare"] for line in lines)
    assert quantities["spare:compute.switch.leaf"] == "2"
    assert switches["spare:compute.switch.leaf"]["bomgen:spare"] == "true"
    assert switches["spare:compute.switch.leaf"]["bomgen:explain"].startswith("plan.yaml:")
    assert switches["compute.switch.leaf.stock"]["bomgen:in_stock"] == "true"
    assert quantities["compute.switch.leaf.stock"] == "1"


def test_software_and_services_are_no_devices(worked: Worked) -> None:
    """What is bought anew for each year is an application by subscription; freight is a service."""
    bom = cdx(worked, PLAN)
    software = by_ref(bom)["software.cluster-manager"]
    assert software["type"] == "application"
    assert software["licenses"][0]["license"]["licensing"] == {"licenseTypes": ["subscription"]}
    assert properties(software)["cdx:device:quantity"] == str(16 * 8 * 3)
    assert [(each["name"], properties(each)["bomgen:quantity"]) for each in bom["services"]] == [("freight", "1")]
    assert "services" not in cdx(worked, {key: value for key, value in PLAN.items() if key != "quote"})


def test_there_is_no_money_and_no_customer(worked: Worked) -> None:
    """Neither a price nor who buys is in a BOM, which is passed on."""
    text = bom_cdx(worked(PLAN)).decode()
    assert "987654" not in text
    assert "876543" not in text
    assert "USD" not in text
    assert "Example Research" not in text
    assert "quotes@example.com" not in text


def test_each_cluster_and_fabric_holds_its_parts(worked: Worked) -> None:
    """Servers of a cluster stand beside its fabrics, and what is in a fabric stands in it."""
    clusters = [{"name": name, **PLAN["cluster"], "fabrics": PLAN["fabrics"]} for name in ("one", "two")]
    bom = cdx(worked, {"bomgen": 1, "name": "both", "clusters": clusters})
    assert [each["bom-ref"] for each in bom["components"]] == ["cluster:one", "cluster:two"]
    fabric = by_ref(bom)["fabric:two.compute"]
    assert fabric in bom["components"][1]["components"]
    assert {each["bom-ref"].split(".")[1] for each in fabric["components"]} == {"compute"}
    depends = {each["ref"]: each["dependsOn"] for each in bom["dependencies"]}
    assert depends["plan:both"] == ["cluster:one", "cluster:two"]
    assert depends["fabric:two.compute"] == [each["bom-ref"] for each in fabric["components"]]
    assert "two.compute.switch.leaf" not in depends


def test_hostile_text_stays_text(tmp_path: Path) -> None:
    """Whatever plans and part files say is the value of a string, and no link is to anything but a page of the web."""
    part = {
        **{"name": HOSTILE, "vendor": HOSTILE, "part_number": HOSTILE, "protocol": "infiniband", "cage": "osfp-finned"},
        **{"ports": 64, "port_gbps": 400, "ports_per_cage": 2, "split": 2, "rack_units": 1, "power": "1 kW"},
        "sources": {
            "a": {"title": HOSTILE, "url": "javascript:alert(1)"},
            "b": {"title": HOSTILE, "url": "https://example.com/%zz"},
            "c": {"title": HOSTILE, "url": "https://example.com/a b"},
            "d": {"title": HOSTILE, "url": "http://[::"},
            "e": {"title": HOSTILE, "url": "https://example.com/a%20b?c=(d)#e"},
        },
    }
    plan = PLAN | {
        "title": HOSTILE,
        "catalog": ["parts/"],
        "fabrics": {"compute": {"switch": "odd", "nic": "cx7-400-osfp"}},
        "quote": QUOTE | {"vendor": {"name": HOSTILE}, "charges": [{"kind": "support", "name": HOSTILE, "price": 1}]},
    }
    (tmp_path / "parts" / "switch").mkdir(parents=True)
    (tmp_path / "parts" / "switch" / "odd.yaml").write_text(json.dumps(part), "utf-8")
    content = bom_cdx(work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), tmp_path, tmp_path)))
    bom = json.loads(content)
    assert content == (json.dumps(bom, ensure_ascii=False, indent=1) + "\n").encode()
    assert bom["metadata"]["component"]["name"] == HOSTILE
    assert bom["metadata"]["supplier"] == {"name": HOSTILE}
    leaf = by_ref(bom)["compute.switch.leaf"]
    assert leaf["name"] == HOSTILE
    assert [each["url"] for each in leaf["externalReferences"]] == ["https://example.com/a%20b?c=(d)#e"]
    assert [each["name"] for each in bom["services"]] == [HOSTILE]
    assert all(re.fullmatch(r"[\w.:-]+", ref) for ref in by_ref(bom))


@pytest.mark.parametrize("date", [None, "2026-11-20"])
def test_the_day_is_the_quotes(date: str | None, worked: Worked) -> None:
    """The time stamp is that of the quote; where it has no date there is none."""
    metadata = cdx(worked, PLAN | {"quote": QUOTE | ({"date": date} if date else {})})["metadata"]
    assert metadata.get("timestamp") == (f"{date}T00:00:00Z" if date else None)


def test_the_serial_number_is_that_of_the_result(worked: Worked) -> None:
    """It is a UUID of version 5: the same for the same plan, another one when the plan or the bill is another."""
    first, again, other = (cdx(worked, PLAN | {"title": title})["serialNumber"] for title in ("a", "a", "b"))
    assert first == again != other
    assert UUID(first).version == 5
    assert first == UUID(first).urn
