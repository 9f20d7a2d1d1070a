"""The answer of an x-ray in two sentences, and what counts and roles alone say of a network that no design explains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from bomgen.catalog.files import Catalog
from bomgen.catalog.identity import identity
from bomgen.core.document import group_by
from bomgen.core.language import Language
from bomgen.core.messages import Message, message
from bomgen.fabric.types import SERVER
from bomgen.reading.bills import ANY_SWITCH, SentBill, SentLine
from bomgen.reading.part_words import gpus_of
from bomgen.xray.lines import SERVER_LEAF, count_engines, count_links, engine_gbps, is_fibre
from bomgen.xray.types import CountedLinks, CountedNetwork

SHOWN_SERVERS = 3
"""Kinds of servers that the first sentence names."""


def count_network(lines: Sequence[SentLine], catalog: Catalog) -> CountedNetwork:
    """Return the switches of a network by tier and its links by kind, from quantities, words and roles."""
    switches = Counter[str]()
    for line in lines:
        if line.quantity and line.kinds == ("switch",):
            switches[line.place.tier or ANY_SWITCH] += line.quantity
    linked = (line for line in lines if line.kind in ("transceiver", "cable") and line.quantity)
    by_kind = group_by(linked, lambda line: line.place.links or (SERVER_LEAF if line.place.tier == SERVER else ""))
    counted = (_count_links(kind, of_kind, catalog) for kind, of_kind in by_kind.items())
    return CountedNetwork(tuple(switches.items()), tuple(links for links in counted if links.links))


def _count_links(kind: str, lines: Sequence[SentLine], catalog: Catalog) -> CountedLinks:
    cables = [line for line in lines if line.kind == "cable"]
    modules = [line for line in lines if line.kind == "transceiver"]
    ends = Counter[str]()
    for line in modules:
        ends[line.place.tier] += count_engines(line, catalog)
    at_both_ends = min(ends.values()) if len(ends) > 1 else sum(ends.values()) // 2
    links = sum(count_links(line, catalog) for line in cables) or at_both_ends
    rates = [engine_gbps(line, catalog) for line in modules]
    rates += [
        int(catalog.find_original("cable", line.id).value("link_gbps") or 0)
        for line in cables
        if not is_fibre(line, catalog)
    ]
    return CountedLinks(kind, links, max(rates, default=0))


def summarise_servers(bill: SentBill, catalog: Catalog) -> Iterator[Message]:
    """Yield the servers of a bill with their GPUs, most first; of rack-scale systems with their compute trays."""
    servers = [line for line in bill.lines if line.kind == SERVER and line.quantity]
    for line in sorted(servers, key=lambda line: -(line.quantity or 0))[:SHOWN_SERVERS]:
        record = catalog.find_original(SERVER, line.id)
        pieces, name = line.quantity or 0, identity(record).name
        gpus, trays = pieces * gpus_of(record), int(record.value("trays") or 0)
        if trays:
            yield message("xray-has-racks", pieces=pieces, part=name, gpus=gpus, trays=pieces * trays)
        else:
            yield message("xray-has-servers", pieces=pieces, part=name, gpus=gpus)


def describe_counts(network: CountedNetwork, language: Language) -> str:
    """Return the switches and links of a network that are counted alone, in words."""
    tiers = (
        language.word("xray-tier", count=count, tier=language.value(tier, "word")) for tier, count in network.switches
    )
    said = [" + ".join(tiers)] if network.switches else []
    for links in network.links:
        kind = language.word(f"label-{links.kind}") if links.kind else language.word("xray-links-of-any-kind")
        rate = f" ({links.gbps}G)" if links.gbps else ""
        said.append(language.word("xray-has-links", links=links.links, kind=kind, rate=rate))
        if links.kind == SERVER_LEAF and not network.switches:
            said.append(language.word("xray-as-gpus", links=links.links))
    return language.word("list-comma").join(said)
