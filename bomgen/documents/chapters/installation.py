"""The chapter of the installation: cables by rack, switches, subnet managers, and what the loss of one switch costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bomgen.core.document import Column, Note, Section, Table, row_of
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.writer import SITE, Writer
from bomgen.results.failures import LEAF, losses
from bomgen.results.warnings import INFINIBAND

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring

MOST_PAIRS = 60
"""Maximum number of pairs of racks in the table; the list of cables has all."""
LOAD = ("compute_pdu_load_w", "feed_power_w")


def installation(writer: Writer) -> Section | None:
    """Return the chapter for those who install and run the network; None without a network with switches."""
    fabrics = [built for built in writer.report.design.fabrics if built.fabric.tiers]
    if not fabrics:
        return None
    from bomgen.cabling.wiring import wire  # needs NumPy

    cables = wire(writer.report.design).each_cable
    tables = (_switches(writer, fabrics), _failures(writer, fabrics), *_racks(writer, cables))
    notes = tuple(Note("info", text) for text in (_cables(writer, cables), *_managers(writer, fabrics)))
    title = writer.word("section-installation")
    return Section("installation", title, tables=tuple(table for table in tables if table.rows), notes=notes)


def _cables(writer: Writer, cables: Wiring) -> str:
    cluster = f" --cluster {writer.report.plan.cluster_name}" if writer.report.plan.cluster_name else ""
    return writer.word(
        "install-cables", plan=f"{writer.report.plan_file}{cluster}", count=writer.language.integer(cables.pieces)
    )


def _managers(writer: Writer, fabrics: list[BuiltFabric]) -> Iterator[str]:
    """Yield where the subnet manager of each InfiniBand fabric runs."""
    for built in fabrics:
        switches = {tier.switch.identity.name: tier.switch for tier in built.fabric.tiers}
        if all(switch.protocol != INFINIBAND for switch in switches.values()):
            continue
        hosts = [
            writer.word("install-pieces", count=writer.language.number(host.pieces.value), name=host.part.identity.name)
            for host in built.hosts
            if host.part and host.part.subnet_manager
        ]
        managed = [name for name, switch in switches.items() if switch.managed]
        where = "hosts" if hosts else "switches" if managed else "reserved" if built.plan.reserved_ports else "none"
        names = writer.word("list-comma").join(hosts or managed)
        yield writer.word(f"install-manager-{where}", fabric=writer.fabric_title(built.plan.name), names=names)


def _switches(writer: Writer, fabrics: list[BuiltFabric]) -> Table:
    word = writer.word
    columns = (
        Column("fabric", word("column-fabric"), "text", 20, main=True),
        Column("tier", word("column-tier"), "text", 14),
        Column("switch", word("column-description"), "text", 30, main=True),
        Column("quantity", word("column-quantity"), "number", 10),
        Column("sku", word("column-sku"), "text", 28),
        Column("airflow", word("column-airflow"), "text", 34, main=True),
    )
    rows = tuple(
        row_of(
            writer.fabric_title(built.plan.name),
            writer.label((tier.name,)),
            writer.language.message(tier.switch.identity.name),
            tier.count.value,
            tier.switch.identity.sku or word("no-part-number"),
            _airflow(writer, tier.switch.airflow),
        )
        for built in fabrics
        for tier in built.fabric.tiers
    )
    return Table("switches", word("table-switches"), columns, rows)


def _airflow(writer: Writer, airflow: str | None) -> str:
    """Return the direction of the air through a switch; the vendor's abbreviations are explained.

    Where the catalogue has none, it is the usual one: that of most switches of the catalogue that state it.
    """
    if airflow is None:
        return writer.word("airflow-usual")
    key = f"airflow-{airflow.partition(',')[0].lower().replace(' ', '-')}"
    return writer.word(key) if key in writer.language.words else airflow


def _failures(writer: Writer, fabrics: list[BuiltFabric]) -> Table:
    """Return a table of uplinks, of the loss of one switch, and of the rating and the load of the PDUs."""
    rows = []
    for built in fabrics:
        leaf = (built.fabric.plane or built.fabric).tier(LEAF)
        figures = [("uplinks", leaf.up)] if leaf and leaf.up else []
        for name, figure in (*figures, *losses(built.fabric)):
            label = writer.joined(writer.fabric_title(built.plan.name), writer.word(f"install-{name}"))
            rows.append(writer.row_of_figure(label, figure))
    site = writer.report.plan.site
    if site and site.pdu and site.pdu.power_w:
        label = writer.word("install-pdu-rating", name=site.pdu.identity.name)
        rows.append(writer.row_of_figure(label, site.pdu.power_w))
    rows += [writer.row((SITE, key)) for key in LOAD if (SITE, key) in writer.numbers]
    return writer.table("failures", rows=rows) if rows else Table("failures", "", (), ())


def _racks(writer: Writer, cables: Wiring) -> Iterator[Table]:
    """Yield a table of the cables between racks, the pairs with the most cables if there are many."""
    from bomgen.cabling.patch_panels import cables_by_racks  # needs NumPy

    pairs = cables_by_racks(cables)
    if not pairs:
        return
    word, language = writer.word, writer.language
    shown = pairs
    caption = word("caption-rack-pairs")
    if len(pairs) > MOST_PAIRS:
        most = sorted(range(len(pairs)), key=lambda at: -pairs[at].cables)[:MOST_PAIRS]
        shown = [pairs[at] for at in sorted(most)]
        left = language.integer(len(pairs) - MOST_PAIRS)
        caption = word("caption-rack-pairs-most", shown=language.integer(MOST_PAIRS), left=left)
    columns = (
        Column("from", word("column-rack-from"), "number", 10),
        Column("to", word("column-rack-to"), "number", 10),
        Column("cables", word("column-cables"), "number", 10),
        Column("lengths", word("column-lengths"), "text", 70),
    )
    rows = tuple(
        row_of(
            pair.first,
            pair.second,
            pair.cables,
            word("list-comma").join(
                word("install-pieces", count=language.integer(number), name=language.value(length, "m"))
                for length, number in pair.lengths
            ),
        )
        for pair in shown
    )
    yield Table("rack-pairs", word("table-rack-pairs"), columns, rows, caption)
