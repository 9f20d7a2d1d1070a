"""Laws of parts: modules by the device, lines that add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from math import ceil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bomgen.catalog.files import Catalog
from bomgen.design.assembly import parts_lookup
from bomgen.results.result import Report

BLOCKS = {"server-leaf": ("server", "leaf"), "leaf-spine": ("leaf", "spine"), "spine-core": ("spine", "core")}

Worked = Callable[[dict[str, Any]], Report]
Built = Callable[[dict[str, Any]], dict[str, Any]]


@st.composite
def plans(draw: st.DrawFn) -> dict[str, Any]:
    """Clusters of DGX H100 on QM9700 with twin-port modules, generic ones or what the program chooses."""
    medium = draw(st.sampled_from(("twin", "generic", "auto")))
    length = draw(st.sampled_from(("2 m", "30 m", "50 m", "100 m")))
    links: dict[str, Any] = {kind: {"length": length} for kind in BLOCKS}
    if medium == "twin":
        module = {"server": "mma4z00-ns-flt", "leaf": "mma4z00-ns"}
        links = {kind: {"medium": "transceiver", "module": "mma4z00-ns", "length": "30 m"} for kind in BLOCKS}
        links["server-leaf"]["module"] = module
    elif medium == "generic":
        links = {kind: {"medium": "transceiver", "module": "generic-400g", "length": length} for kind in BLOCKS}
    fabric = {
        "switch": "qm9700",
        "topology": draw(st.sampled_from(("fat-tree", "rail-optimized", "rail-only"))),
        "hosts": draw(st.sampled_from(([], [{"name": "login", "count": 3, "ports": 3}]))),
        "oversubscription": draw(st.sampled_from((1, 1.5, 2, 3))),
        "reserved_ports": draw(st.integers(0, 5)),
        "build_out": draw(st.sampled_from(("full", "exact"))),
        "links": links,
    }
    share = draw(st.integers(0, 7))
    return {
        "bomgen": 1,
        "name": "law",
        "cluster": {"gpu": "h100-sxm", "servers": draw(st.integers(1, 400)), "spare_servers": draw(st.integers(0, 2))},
        "fabrics": {"compute": fabric, "storage": {"switch": "qm9700", "ports_per_server": 2}},
        "spares": {"transceiver": f"{share}%", "cable": f"{share}%", "switch": draw(st.integers(0, 3))},
        "quote": {
            "discount": {
                "default": f"{draw(st.integers(0, 20))}%",
                "transceiver": f"{draw(st.integers(0, 300)) / 10}%",
            },
            "tax": f"{draw(st.integers(0, 25))}%",
        },
    }


@given(plans())
def test_modules_are_rounded_up_by_the_device(worked: Worked, plan: dict[str, Any]) -> None:
    """No module is shared by two devices: each rounds up its own links, and has no module more than that."""
    for built in worked(plan).design.fabrics:
        fabric = built.fabric
        found: Counter[str] = Counter()
        engines: dict[str, set[int]] = {}
        for use in built.interconnect.modules:
            found[use.device] += use.quantity.value
            engines.setdefault(use.device, set()).add(use.module.ports.value)
        if "server" in found and len(engines["server"]) == 1:
            per_server = ceil(built.attachment.ports_per_server.value / engines["server"].copy().pop())
            of_hosts = sum(
                hosts.pieces.value * ceil(hosts.ports.value / engines["server"].copy().pop()) for hosts in built.hosts
            )
            assert worked_servers(plan) * per_server + of_hosts == found["server"]
        for tier in fabric.tiers:
            kinds = [kind for kind, ends in BLOCKS.items() if tier.name in ends and fabric_has(fabric, kind)]
            fitted_kinds = {use.kind for use in built.interconnect.modules if use.device == tier.name}
            if set(kinds) != fitted_kinds or len(engines[tier.name]) > 1 or fabric.reserved_above:
                continue
            size = engines[tier.name].copy().pop()
            wanted = sum(
                fitted.count.value * ceil((fitted.down.value + (fitted.up.value if fitted.up else 0)) / size)
                for fitted in tier.fitted
            )
            if (
                fabric.planes
                and sum(hosts.pieces.value * hosts.ports.value for hosts in built.hosts) % fabric.planes.value
            ):
                assert wanted >= found[tier.name], "tiers are those of the fullest plane; others have fewer hosts"
                continue
            assert wanted == found[tier.name]


def worked_servers(plan: dict[str, Any]) -> int:
    """The servers of a plan."""
    return int(plan["cluster"]["servers"])


def fabric_has(fabric: Any, kind: str) -> bool:
    """Whether a fabric has links of a kind."""
    return any(link.kind == kind for link in fabric.links)


@given(plans())
def test_both_ends_light_the_same_fibre(worked: Worked, plan: dict[str, Any]) -> None:
    """The modules at the two ends of a kind of link speak the same signal over the same fibre, as far as it reaches."""
    parts = parts_lookup(Catalog())
    for built in worked(plan).design.fabrics:
        for kind in BLOCKS:
            ends = [use.module for use in built.interconnect.modules if use.kind == kind]
            if len(ends) < 2:
                continue
            lower, upper = ends
            assert (lower.optic, lower.fibre, lower.connector) == (upper.optic, upper.fibre, upper.connector)
            assert lower.engine_gbps == upper.engine_gbps
            cable = next(use for use in built.interconnect.cables if use.kind == kind)
            if cable.cable and "any" not in (lower.fibre, cable.cable.fibre):
                assert parts.cable(cable.cable.identity.id).fibre == lower.fibre
            for module in ends:
                assert module.reach_m is None or cable.length_m <= module.reach_m.value


@given(plans())
def test_every_link_has_its_cable(built: Built, plan: dict[str, Any]) -> None:
    """Cables, and the links that they carry, are the links of the fabric less the reserved ones."""
    bom, parts = built(plan), parts_lookup(Catalog())
    for name, fabric in bom["fabrics"].items():
        for kind, cables in fabric["cables"].items():
            links = fabric["links"][kind]
            if kind == "server-leaf":
                links -= plan["fabrics"][name].get("reserved_ports", 0)
            carried = sum(pieces * parts.cable(id).links.value for id, pieces in cables.items())
            assert 0 < sum(cables.values()) <= links <= carried
            if carried == sum(cables.values()):
                assert links == carried


@given(plans())
def test_the_bill_has_what_the_fabrics_have(built: Built, plan: dict[str, Any]) -> None:
    """Lines of a category add up to the numbers above them: merging lines changes no quantity."""
    bom = built(plan)
    for name, fabric in bom["fabrics"].items():
        billed: Counter[str] = Counter()
        for line in bom["lines"]:
            if line["fabric"] == name:
                billed[line["category"]] += line["quantity"]
        wanted = {
            "switch": fabric["switches"]["total"],
            "transceiver": fabric.get("transceivers", {}).get("total", 0),
            "cable": sum(sum(cables.values()) for cables in fabric["cables"].values()),
        }
        assert {category: number for category, number in wanted.items() if number} == dict(billed)


@given(plans())
def test_spares_are_rounded_up_by_the_part(built: Built, plan: dict[str, Any]) -> None:
    """Spares of a share are a share of all pieces of a part, rounded up once; spares in pieces are those pieces."""
    bom = built(plan)
    pieces: Counter[tuple[str, str]] = Counter()
    spare: Counter[tuple[str, str]] = Counter()
    for line in bom["lines"]:
        key = line["category"], line["part"] or line["description"]
        pieces[key] += line["quantity"]
        spare[key] += line["spare"]
    share = Fraction(int(plan["spares"]["cable"].rstrip("%")), 100)
    for key, number in pieces.items():
        match key[0]:
            case "transceiver" | "cable":
                assert ceil(number * share) == spare[key]
            case "switch":
                assert plan["spares"]["switch"] == spare[key]
            case "server":
                assert plan["cluster"]["spare_servers"] == spare[key]
