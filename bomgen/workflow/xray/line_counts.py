"""What lines count to: links of cables, links that modules serve, switches of a tier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.fabric import declaration
from bomgen.fabric.declaration import link_kinds, topology
from bomgen.optics.compatibility import accepts, rules
from bomgen.reading.bills import SentLine
from bomgen.workflow.xray.scopes import Scope

SERVER_LEAF = declaration.SERVER_LEAF.name
SERVER = "server"
"""The tier of the ends of links at servers."""


def leaf_spine() -> str:
    """The kind of link between leaves and spines."""
    return kind_between("leaf", "spine")


def spine_core() -> str:
    """The kind of link between spines and cores."""
    return kind_between("spine", "core")


def kind_between(lower: str, upper: str, topology_name: str | None = None) -> str:
    """The name of the kind of link between two tiers, of any topology or of one."""
    kinds = topology(topology_name).link_kinds if topology_name else link_kinds().values()
    return next((kind.name for kind in kinds if kind.ends == (lower, upper)), "")


def is_fibre(line: SentLine, catalog: Catalog) -> bool:
    """Whether a line of cables is one of fibres between modules."""
    return str(catalog.find_original("cable", line.id).value("kind")) == "fibre"


def count_links(line: SentLine, catalog: Catalog) -> int:
    """Links that the pieces of a line of cables carry."""
    return (line.quantity or 0) * count_links_per_piece(line, catalog)


def count_links_per_piece(line: SentLine, catalog: Catalog) -> int:
    """Links that a cable carries: a splitter carries several."""
    return int(part_records.cable(catalog.find_original("cable", line.id), catalog).links.value)


def count_engines(line: SentLine, catalog: Catalog) -> int:
    """Links that the modules of a line serve."""
    return (line.quantity or 0) * int(catalog.find_original("transceiver", line.id).value("ports") or 1)


def count_cables(scope: Scope, links: str, catalog: Catalog) -> int:
    """Links that the cables between two tiers carry."""
    return sum(count_links(line, catalog) for line in scope.own if line.kind == "cable" and line.place.links == links)


def count_engines_at(scope: Scope, links: str, tier: str, catalog: Catalog) -> int:
    """Links that the modules at an end serve."""
    found = 0
    for line in scope.own:
        if line.kind == "transceiver" and (line.place.links, line.place.tier) == (links, tier):
            found += count_engines(line, catalog)
    return found


def count_tiers(scope: Scope) -> dict[str, int]:
    """Switches by the tier that their lines say."""
    found = dict[str, int]()
    for line in scope.own:
        if line.kind == "switch" and line.place.tier and line.quantity:
            found[line.place.tier] = found.get(line.place.tier, 0) + line.quantity
    return found


def count_links_below(scope: Scope, catalog: Catalog) -> Counter[int]:
    """Links to leaves, as cables and modules at either end count them, each with how many of the three agree."""
    cables = count_cables(scope, SERVER_LEAF, catalog)
    at_server = count_engines_at(scope, SERVER_LEAF, SERVER, catalog)
    if not at_server and not any(line.place.links for line in scope.own):
        at_server = sum(count_engines(line, catalog) for line in list_modules_at_servers(scope, catalog))
    at_leaf = count_engines_at(scope, SERVER_LEAF, "leaf", catalog)
    return Counter(each for each in (cables, at_server, at_leaf) if each)


def count_idle_ends(scope: Scope, catalog: Catalog) -> int:
    """Ends of splitters that may have no link, since each leaf has splitters of its own."""
    below = (line for line in scope.own if line.kind == "cable" and line.place.links == SERVER_LEAF)
    ends = max((count_links_per_piece(line, catalog) for line in below), default=1)
    return (ends - 1) * count_tiers(scope).get("leaf", 0)


def list_modules_at_servers(scope: Scope, catalog: Catalog) -> Iterator[SentLine]:
    """Modules that are plugged in at servers, as their lines say, or as they fit no switch."""
    known = rules(catalog)
    cages = {str(catalog.find_original("switch", line.id).value("cage") or "any") for line in scope.of_kind("switch")}
    for line in scope.of_kind("transceiver"):
        plug = str(catalog.find_original("transceiver", line.id).value("cage") or "any")
        fits = any(accepts(cage, plug, known) for cage in cages)
        if line.quantity and (line.place.tier == SERVER if line.place.tier else not fits):
            yield line
