"""The switches of a fabric, and how its links are built, as a plan says it, of the parts that a bill has."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.optics.compatibility import accepts, rules
from bomgen.reading.bills import ANY_SWITCH, SentLine
from bomgen.workflow.xray.forward import Plan
from bomgen.workflow.xray.line_counts import SERVER_LEAF, leaf_spine, spine_core
from bomgen.workflow.xray.scopes import Scope

MOST_MEDIA = 6


def list_switches(scope: Scope) -> Iterator[Plan]:
    """The switches of a fabric, as a plan names them."""
    lines = sorted(scope.of_kind("switch"), key=lambda line: -(line.quantity or 0))
    own = [line for line in scope.own if line.kind == "switch"]
    tiers = {line.place.tier: line.id for line in own if line.place.tier}
    if tiers.get("leaf"):
        fabric: Plan = {"switch": tiers["leaf"]}
        for tier in ("spine", "core"):
            if tiers.get(tier) and tiers[tier] != tiers["leaf"]:
                fabric[tier] = {"switch": tiers[tier]}
        yield fabric
        return
    kinds = list(dict.fromkeys(line.id for line in own or lines or scope.others))
    if len(kinds) == 2 and not tiers:
        leaf, spine = kinds
        yield {"switch": leaf, "spine": {"switch": spine}}
    for id in kinds:
        yield {"switch": id}


def list_links(scope: Scope, switch: str, catalog: Catalog) -> Iterator[Plan]:
    """What the modules and cables of a bill say of the links, as a plan does; nothing where it has none."""
    known = rules(catalog)
    cage = str(catalog.find_original("switch", switch).value("cage") or "any")
    modules = [line for line in scope.of_kind("transceiver") if line.quantity]
    at = {
        (links, tier): [line.id for line in modules if line.place.links in (links, "") and line.place.tier == tier]
        for links in (SERVER_LEAF, leaf_spine(), spine_core())
        for tier in ("server", "leaf", "spine", "core")
    }
    unplaced = [line for line in modules if line.place.tier in ("", ANY_SWITCH)]
    plugs = {line.id: str(catalog.find_original("transceiver", line.id).value("cage") or "any") for line in modules}
    # Where the line of one end is missing, a module of another end may be what is plugged in there, too.
    in_switch = [line.id for line in unplaced or modules if accepts(cage, plugs[line.id], known)]
    in_server = [
        line.id for line in unplaced if not line.place.tier and not accepts(cage, plugs[line.id], known)
    ] or in_switch
    if not unplaced:
        in_server = [line.id for line in modules if plugs[line.id] == "any"]
    ends = {
        SERVER_LEAF: (at[SERVER_LEAF, "server"] or in_server, at[SERVER_LEAF, "leaf"] or in_switch),
        leaf_spine(): (at[leaf_spine(), "leaf"] or in_switch, at[leaf_spine(), "spine"] or in_switch),
        spine_core(): (at[spine_core(), "spine"] or in_switch, at[spine_core(), "core"] or in_switch),
    }
    names = {SERVER_LEAF: ("server", "leaf"), leaf_spine(): ("leaf", "spine"), spine_core(): ("spine", "core")}
    options = dict[str, list[Plan]]()
    for links, (low, up) in ends.items():
        cables = [line for line in scope.of_kind("cable") if line.place.links in (links, "") and line.quantity]
        placed = [line for line in cables if line.place.links == links] or cables
        options[links] = list(_link_options(low, up, placed, names[links], catalog))[:MOST_MEDIA]
    if not any(options.values()):
        yield {}
        return
    chosen = [options[links] or [{}] for links in (SERVER_LEAF, leaf_spine())]
    core = options[spine_core()][:1] or [{}]
    for one, two, three in product(*chosen, core):
        yield {
            name: each
            for name, each in zip((SERVER_LEAF, leaf_spine(), spine_core()), (one, two, three), strict=True)
            if each
        }


def _link_options(
    low: Sequence[str], up: Sequence[str], cables: Sequence[SentLine], ends: tuple[str, str], catalog: Catalog
) -> Iterator[Plan]:
    """The ways to build one kind of link of the parts that a bill has."""
    fibres = dict[str, Fraction | None]()
    for line in cables:
        record = catalog.find_original("cable", line.id)
        length = line.recognition.named.length_m if line.recognition.named else None
        medium = str(record.value("kind"))
        if medium == "fibre":
            longest = max(length or Fraction(0), fibres.get(line.id) or Fraction(0))
            fibres[line.id] = longest or None
        elif medium not in ("trunk",):
            option: Plan = {"medium": medium, "module": line.id}
            yield {**option, **_length(length)}
    for one, two in dict.fromkeys(product(low or ("",), up or ("",))):
        if not one and not two:
            continue
        module: Any = one if one == two else {end: id for end, id in zip(ends, (one, two), strict=True) if id}
        for id, stocked in fibres.items():
            yield {"medium": "transceiver", "module": module, "fibre": id, **_length(stocked)}
        if not fibres:
            yield {"medium": "transceiver", "module": module}
        else:
            most = max((each for each in fibres.values() if each), default=None)
            yield {"medium": "transceiver", "module": module, **_length(most)}


def _length(length: Fraction | None) -> Plan:
    return {"length": f"{float(length):g} m"} if length else {}
