"""The chapters of the site and what stands there: fabrics, racks, and their installation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from bomgen.catalog.identity import AIRFLOWS, describe_airflow, key_of
from bomgen.core.document import Cell, Column, Drawing, Note, Path, Row, Section, Table, row_of
from bomgen.core.language import HEAT
from bomgen.core.provenance import Figure
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.chapters.writer import SITE, Writer
from bomgen.fabric.types import tiers_in_words
from bomgen.optics.uses import Chosen
from bomgen.plan.types import RACK_KINDS
from bomgen.results.elevations import Elevation, Elevations, named_text, pdu_words, spans_text
from bomgen.results.reasons import rejection
from bomgen.results.warnings import INFINIBAND
from bomgen.results.what_if import LEAF, OtherDesign, full_build_out, losses, with_oversubscription, with_split_servers

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring

TABLES = ("site", "site-power", "site-load", "site-supply")
FEEDS = "compute_rack_feeds"


def site(writer: Writer) -> Section | None:
    """Return the chapter of racks, power, weight, heat and supply; None if the plan requests none of them."""
    of_tables = {id: [_row(writer, path) for path in writer.paths_of(id)] for id in TABLES}
    tables = tuple(writer.table(id, rows=rows) for id, rows in of_tables.items() if rows)
    if not tables:
        return None
    alone = not writer.report.design.fabrics and (SITE, "power_w") in writer.numbers
    text = (writer.word("site-servers-alone"),) if alone else ()
    return Section(SITE, writer.word("section-site"), text=text, tables=tables)


def _row(writer: Writer, path: Path) -> Row:
    row = writer.row(path)
    if path[1] != FEEDS:
        return row
    return replace(row, cells=(Cell(writer.word("label-feed", feed=path[-1])), *row.cells[1:]))


# racks --------------------------------------------------------------------------------------------------------------
# The chapter of the racks: groups of equal ones with their devices.

RACK_CHAPTER = "racks"
MOST_SPANS = 6
"""Maximum number of rack or name ranges in a cell; bom.json has all."""
MOST_GROUPS = 200
"""Maximum number of groups of equal racks in tables."""


def racks(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """Return the chapter of groups of equal racks with their devices; None without racks."""
    found = writer.report.elevations
    if found is None:
        return None
    tables = (_groups(writer, found), _slots(writer, found))
    text = tuple(_text(writer, found))
    return Section(RACK_CHAPTER, writer.word("section-racks"), text=text, tables=tables, drawings=drawings)


def _text(writer: Writer, elevations: Elevations) -> Iterator[str]:
    language = writer.language
    number = sum(group.number for group in elevations.groups)
    alike, rows = len(elevations.groups), len(elevations.rows)
    yield writer.word(
        "racks-are", racks=language.integer(number), rows=language.integer(rows), alike=language.integer(alike)
    )
    if len(elevations.groups) > MOST_GROUPS:
        yield writer.word("racks-not-listed", most=language.integer(MOST_GROUPS))
    for each in elevations.unplaced:
        missing, all_of_them = language.integer(each.number), language.integer(each.of)
        yield writer.word(
            f"racks-without-{each.why}", number=missing, of=all_of_them, name=writer.language.message(each.name)
        )


def _groups(writer: Writer, elevations: Elevations) -> Table:
    word = writer.word
    columns = (
        Column("racks", word("column-racks"), "text", 20, main=True),
        Column("row", word("column-row"), "text", 7),
        Column("number", word("column-racks-number"), "number", 8, main=True),
        Column("power", word("column-power"), "number", 12, main=True),
        Column("weight", word("column-weight"), "number", 11),
        Column("units", word("column-units-used"), "number", 10),
        Column("outlets", word("column-outlets"), "text", 20),
        Column("pdus", word("column-pdus"), "text", 14),
        Column("heat", word("column-heat"), "number", 16),
    )
    shown = elevations.groups[:MOST_GROUPS]
    rows = [_group(writer, group) for kind in RACK_KINDS for group in shown if group.kind == kind]
    if len(elevations.groups) > 1:
        rows.append(_all(writer, elevations.groups))
    return Table(RACK_CHAPTER, word("table-racks"), columns, tuple(rows), word("caption-racks"))


def _group(writer: Writer, group: Elevation) -> Row:
    sums, feeds = group.sums, writer.word("list-comma").join(group.feeds)
    cells = (
        Cell(spans_text(group.racks, MOST_SPANS)),
        Cell(spans_text(group.rows, MOST_SPANS)),
        Cell(group.number),
        _cell(sums.power_w, "W", "power_w" in sums.lower_bounds),
        _cell(sums.weight_kg, "kg", "weight_kg" in sums.lower_bounds),
        _cell(sums.units_used, "U"),
        Cell(_outlets(writer, group)),
        Cell(writer.language.beside(f"{len(group.pdus)}", feeds) if group.pdus else ""),
        _cell(sums.heat, HEAT, "power_w" in sums.lower_bounds),
    )
    return Row(cells, writer.word(f"label-{group.kind}_racks"))


def _all(writer: Writer, groups: Sequence[Elevation]) -> Row:
    number = sum(group.number for group in groups)
    pdus = sum(group.number * len(group.pdus) for group in groups)
    bounds = {name for group in groups for name in group.sums.lower_bounds}
    cells = (
        Cell(writer.word("racks-all")),
        Cell(""),
        Cell(number),
        replace(_sum([(group.number, group.sums.power_w) for group in groups], "W"), least="power_w" in bounds),
        replace(_sum([(group.number, group.sums.weight_kg) for group in groups], "kg"), least="weight_kg" in bounds),
        _sum([(group.number, group.sums.units_used) for group in groups], "U"),
        Cell(""),
        Cell(writer.language.integer(pdus) if pdus else ""),
        replace(_sum([(group.number, group.sums.heat) for group in groups], HEAT), least="power_w" in bounds),
    )
    return Row(cells, writer.word("racks-sum"))


def _sum(figures: Sequence[tuple[int, Figure | None]], unit: str) -> Cell:
    known = [(number, figure) for number, figure in figures if figure]
    if not known:
        return Cell(None)
    ends = [(figure.value, *(figure.bounds or (figure.value, figure.value))) for _, figure in known]
    total, low, high = (
        sum(number * end[place] for (number, _), end in zip(known, ends, strict=True)) for place in range(len(ends[0]))
    )
    if unit == HEAT:
        total, low, high = round(total), round(low), round(high)
    return Cell(total, unit, estimate=None if low == high else (low, high))


def _outlets(writer: Writer, group: Elevation) -> str:
    sums = group.sums
    needed = writer.word("list-comma").join(f"{int(each.value)} {form.upper()}" for form, each in sums.outlets.items())
    offered = writer.word("list-comma").join(
        f"{int(each.value)} {writer.word(f'outlet-{form}')}" for form, each in sums.pdu_outlets.items()
    )
    if needed and "outlets" in sums.lower_bounds:
        needed = writer.word("ui-at-least", amount=needed)
    return writer.word("outlets-of", needed=needed or "–", offered=offered) if offered else needed or "–"


def _slots(writer: Writer, elevations: Elevations) -> Table:
    word = writer.word
    columns = (
        Column("racks", word("column-racks"), "text", 20, main=True),
        Column("row", word("column-row"), "text", 7),
        Column("units", word("column-units"), "text", 13, main=True),
        Column("pieces", word("column-pieces"), "number", 8),
        Column("power", word("column-power"), "number", 11),
        Column("weight", word("column-weight"), "number", 11),
        Column("devices", word("column-devices"), "text", 34, main=True),
        Column("part", word("column-part"), "text", 20),
    )
    rows = tuple(row for group in elevations.groups[:MOST_GROUPS] for row in _group_rows(writer, group))
    return Table("rack-slots", word("table-rack-slots"), columns, rows, word("caption-rack-slots"))


def _group_rows(writer: Writer, group: Elevation) -> Iterator[Row]:
    where = (Cell(spans_text(group.racks, MOST_SPANS)), Cell(spans_text(group.rows, MOST_SPANS)))
    for slot in group.slots:
        positioned = slot.unit is not None and slot.top is not None
        names = ", ".join(named_text(named) for named in slot.names[:MOST_SPANS])
        more = len(slot.names) - MOST_SPANS
        yield row_of(
            *where,
            spans_text(((slot.unit or 0, slot.top or 0),)) if positioned else writer.word("units-unknown"),
            slot.pieces,
            _sum([(slot.pieces, slot.drawn_w)], "W"),
            _sum([(slot.pieces, slot.weight_kg)], "kg"),
            f"{names}, … +{more}" if more > 0 else names,
            writer.language.message(slot.identity.name) if slot.identity else "",
        )
    if group.pdus:
        lying = [pdu for pdu in group.pdus if pdu.unit]
        spans = tuple((pdu.unit, pdu.unit + pdu.height_u - 1) for pdu in lying if pdu.unit)
        unit = spans_text(spans) if lying else writer.word("units-beside")
        names = writer.word("list-semicolon").join(pdu_words(writer.language, pdu) for pdu in group.pdus)
        yield row_of(*where, unit, len(group.pdus), None, None, names, "PDU")


def _cell(figure: Figure | None, unit: str, least: bool = False) -> Cell:
    return replace(_sum([(1, figure)], unit), unit=unit, least=least)


# installation -------------------------------------------------------------------------------------------------------
# The chapter of the installation: cables by rack, switches, subnet managers, and what the loss of one switch costs.

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
    plan, cluster = writer.report.plan_file, writer.report.plan.cluster_name
    plan = f"{plan} --cluster {cluster}" if cluster else plan
    listing = writer.word("install-cables", plan=plan, count=writer.language.integer(cables.pieces))
    notes = tuple(Note("info", text) for text in (listing, *_managers(writer, fabrics)))
    notes += tuple(Note("warning", text) for text in _mixed_airflows(writer, fabrics))
    title = writer.word("section-installation")
    return Section("installation", title, tables=tuple(table for table in tables if table.rows), notes=notes)


def _mixed_airflows(writer: Writer, fabrics: list[BuiltFabric]) -> Iterator[str]:
    """Yield the racks whose switches blow the air in different directions, so that some take in warm air."""
    airflows = {
        tier.switch.identity.name: tier.switch.airflow
        for built in fabrics
        for tier in built.fabric.tiers
        if tier.switch.airflow in AIRFLOWS
    }
    for group in writer.report.elevations.groups if writer.report.elevations else ():
        switches = {slot.identity.name for slot in group.slots if slot.identity and slot.identity.name in airflows}
        if len({airflows[name] for name in switches}) > 1:
            names = (writer.language.beside(name, str(airflows[name])) for name in sorted(switches))
            racks = spans_text(group.racks, MOST_SPANS)
            yield writer.word("install-mixed-airflow", racks=racks, names=writer.word("list-comma").join(names))


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
    usual = word("airflow-usual")
    rows = tuple(
        row_of(
            writer.fabric_title(built.plan.name),
            writer.label((tier.name,)),
            writer.language.message(tier.switch.identity.name),
            tier.count.value,
            tier.switch.identity.sku or word("no-part-number"),
            writer.language.message(describe_airflow(airflow)) if (airflow := tier.switch.airflow) else usual,
        )
        for built in fabrics
        for tier in built.fabric.tiers
    )
    return Table("switches", word("table-switches"), columns, rows)


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


# fabrics ------------------------------------------------------------------------------------------------------------
# The chapters of the design and the order: fabrics, links, bill, and required parts.

# links --------------------------------------------------------------------------------------------------------------
# The options selected for the links of a fabric, and the rejected ones.


def links_table(writer: Writer, built: BuiltFabric) -> Table:
    """Return a table with a row per kind of link: the option selected, its reason, and the rejected options."""
    columns = (
        Column("link", writer.word("column-link"), "text", 20),
        Column("way", writer.word("column-way"), "text", 30),
        Column("reason", writer.word("column-why"), "text", 40),
        Column("others", writer.word("column-others"), "text", 60),
    )
    rows = tuple(
        row
        for chosen in built.interconnect.choices
        for row in (_link_row(writer, chosen), *_short_rows(writer, built, chosen))
    )
    name = built.plan.name
    return Table(f"links-{name}", writer.word("table-links", name=writer.fabric_title(name)), columns, rows)


def _link_row(writer: Writer, chosen: Chosen) -> Row:
    selected = writer.language.value(chosen.option, "word")
    parts = writer.word("link-parts", names=writer.word("list-comma").join(chosen.parts)) if chosen.parts else ""
    reason = writer.word(f"chosen-{chosen.reason}")
    others = writer.word("list-semicolon").join(
        writer.joined(
            writer.language.value(option.name, "word"),
            f"{writer.language.message(rejection(option))}{_cost(writer, option.cost)}",
        )
        for option in chosen.others
    )
    return row_of(writer.place(chosen.kind), f"{selected}{parts}", f"{reason}{_cost(writer, chosen.cost)}", others)


def _short_rows(writer: Writer, built: BuiltFabric, chosen: Chosen) -> Iterator[Row]:
    for short in built.interconnect.short_links(chosen.kind):
        names = writer.word("list-comma").join(short.medium.part_ids)
        length = writer.language.value(short.longest_m, "m")
        yield row_of(
            writer.word("short-links", kind=writer.place(chosen.kind), length=length),
            f"{writer.language.value(short.medium.option, 'word')}{writer.word('link-parts', names=names)}",
            writer.word("chosen-short", links=writer.language.number(short.links.value)),
            "",
        )


def _cost(writer: Writer, cost: Fraction | None) -> str:
    if cost is None:
        return ""
    currency = writer.report.quote.totals.currency
    return writer.word("cost-of-link", amount=writer.language.money(rounded(cost, currency), currency))


# build --------------------------------------------------------------------------------------------------------------


def network(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """Return the chapter of the fabrics with their drawings; None if there are none."""
    if not writer.report.design.fabrics:
        return None
    tables = []
    for built in writer.report.design.fabrics:
        tables += [fabric_table(writer, built), *([links_table(writer, built)] if built.interconnect.choices else [])]
    return Section("network", writer.word("section-network"), tables=tuple(tables), drawings=drawings)


def fabric_table(writer: Writer, built: BuiltFabric) -> Table:
    """Return a table of all numbers of a fabric."""
    base = ("fabrics", built.plan.name)
    rows = tuple(
        row_of(_label(writer, built, path[2:]), *writer.row(path).cells[1:])
        for path in writer.numbers
        if path[:2] == base
    )
    title = writer.word(
        "table-fabric-named",
        name=writer.fabric_title(built.plan.name),
        topology=writer.language.value(built.fabric.topology, "word"),
    )
    caption = writer.word("list-sentences").join(_other_designs(writer, built)) or None
    return replace(
        writer.table("fabric", rows=rows), id=f"fabric-{built.plan.name}", title=title, caption=caption, code=True
    )


def _other_designs(writer: Writer, built: BuiltFabric) -> Iterator[str]:
    report = writer.report
    if (full := full_build_out(report, built)) and not full.is_equal:
        adds = min(full.pieces.values()) >= 0
        yield writer.word("full-would-add" if adds else "full-would-change", pieces=_name_pieces(writer, full, adds))
    if (other := with_oversubscription(report, built)) and not other.is_equal:
        yield writer.word("oversubscribed-would-change", pieces=_name_pieces(writer, other, False))
    if split := with_split_servers(report, built):
        numbers = {"switches": tiers_in_words(split.fabric), "built": tiers_in_words(built.fabric)}
        yield writer.word("split-would-take", **numbers)


def _name_pieces(writer: Writer, other_design: OtherDesign, adds: bool) -> str:
    shown = "{}" if adds else "{:+}"
    named = [
        writer.word(f"more-{kind}", count=shown.format(count)) for kind, count in other_design.pieces.items() if count
    ]
    if other_design.amount is not None:
        named.append(writer.language.money(other_design.amount, writer.report.quote.totals.currency))
    return writer.word("list-comma").join(named)


def _label(writer: Writer, built: BuiltFabric, path: Path) -> str:
    """Return the label of a number of a fabric; a bisection that is a lower bound says so."""
    if path[-1] == "bisection_gbps" and not built.fabric.exact_bisection:
        path = (*path[:-1], "bisection_at_least_gbps")
    named: dict[Path, str] = {("hosts", key_of(hosts.name)): hosts.name for hosts in built.hosts}
    if path[:2] in named:
        return writer.joined(
            writer.label(path[:1]), writer.language.value(named[path[:2]], "word"), writer.group_label(path[2:])
        )
    return writer.group_label(path)
