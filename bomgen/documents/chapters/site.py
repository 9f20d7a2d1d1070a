"""The chapters of the site and what stands there: racks, fabrics, their installation, and the tests of handing over."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from bomgen.catalog.files import built_in_assumption
from bomgen.catalog.identity import AIRFLOWS, INFINIBAND, describe_airflow, key_of
from bomgen.core.document import Cell, Drawing, Note, Path, Row, Section, Table, row_of
from bomgen.core.language import HEAT
from bomgen.core.provenance import Figure
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.documents.tables import SITE, Writer, make_table
from bomgen.fabric.types import SERVER_LEAF, tiers_in_words
from bomgen.plan.types import RACK_KINDS
from bomgen.results.elevations import Elevation, named_text, pdu_words, spans_text
from bomgen.results.what_if import (
    LEAF,
    OtherDesign,
    full_build_out,
    losses,
    rejection,
    with_oversubscription,
    with_split_servers,
)

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring

TABLES = ("site", "site-power", "site-load", "site-supply")
FEEDS = "compute_rack_feeds"


def site(writer: Writer) -> Section | None:
    """Return the chapter of racks, power, weight, heat and supply; None if the plan requests none of them."""

    def row(path: Path) -> Row:
        of_number = writer.row(path)
        if path[1] != FEEDS:
            return of_number
        return replace(of_number, cells=(Cell(writer.word("label-feed", feed=path[-1])), *of_number.cells[1:]))

    of_tables = {id: [row(path) for path in writer.paths_of(id)] for id in TABLES}
    tables = tuple(writer.table(id, rows=rows) for id, rows in of_tables.items() if rows)
    if not tables:
        return None
    alone = not writer.report.design.fabrics and (SITE, "power_w") in writer.numbers
    text = (writer.word("site-servers-alone"),) if alone else ()
    notes = tuple(Note("info", text) for text in _to_confirm(writer))
    return Section(SITE, writer.word("section-site"), text=text, tables=(*tables, *_facility(writer)), notes=notes)


def _facility(writer: Writer) -> Iterator[Table]:
    """Yield the table of what the machines in racks need of the room, as far as it is published."""
    plan, design = writer.report.plan, writer.report.design
    switches = (tier.switch for built in design.fabrics for tier in built.fabric.tiers)
    of_site = (plan.site.pdu, plan.site.management_pdu, plan.site.rack) if plan.site else ()
    parts = [machine.identity for machine in (plan.cluster.server, *switches, *of_site) if machine]
    facts = {part.name: writer.join_facts(part) for part in parts}
    rows = [row_of(writer.language.message(name), text) for name, text in facts.items() if text]
    if rows:
        yield make_table("facility", writer.language, rows)


def _to_confirm(writer: Writer) -> Iterator[str]:
    """Yield one sentence with what the room is planned by and no source states."""
    server, site = writer.report.plan.cluster.server, writer.report.plan.site
    names = list[str]()
    if server and server.liquid_cooled and server.liquid_share is None:
        names.append(writer.word("site-confirm-liquid", name=writer.language.message(server.identity.name)))
    if server and server.rack_scale:
        names.append(writer.word("site-confirm-shelves", name=writer.language.message(server.identity.name)))
    if site and not all(pdu and pdu.input for pdu in (site.management_pdu, site.pdu or site.management_pdu)):
        names.append(writer.word("site-confirm-pdus"))
    if names:
        yield writer.word("site-to-confirm", names=writer.word("list-semicolon").join(names))


# racks --------------------------------------------------------------------------------------------------------------
# The chapter of the racks: groups of equal ones with their devices.

MOST_SPANS = 6
"""Maximum number of rack or name ranges in a cell; bom.json has all."""
MOST_GROUPS = 200
"""Maximum number of groups of equal racks in tables."""
SUMS = (
    *(("power_w", "W", "power_w"), ("weight_kg", "kg", "weight_kg")),
    *(("units_used", "U", ""), ("heat", HEAT, "power_w")),
)
"""The sums of a rack, their units, and the figure that makes each a lower bound."""


def racks(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """Return the chapter of groups of equal racks with their devices; None without racks."""
    elevations, word, integer = writer.report.elevations, writer.word, writer.language.integer
    if elevations is None:
        return None
    groups, shown = elevations.groups, elevations.groups[:MOST_GROUPS]
    number = sum(group.number for group in groups)
    text = [word("racks-are", racks=integer(number), rows=integer(len(elevations.rows)), alike=integer(len(groups)))]
    if len(groups) > MOST_GROUPS:
        text.append(word("racks-not-listed", most=integer(MOST_GROUPS)))
    for missing in elevations.unplaced:
        counts = {"number": integer(missing.number), "of": integer(missing.of)}
        text.append(word(f"racks-without-{missing.why}", name=writer.language.message(missing.name), **counts))
    rows = [_group_row(writer, group) for kind in RACK_KINDS for group in shown if group.kind == kind]
    if len(groups) > 1:
        pdus = sum(group.number * len(group.pdus) for group in groups)
        counted = [(group.number, group) for group in groups]
        texts = "", integer(pdus) if pdus else ""
        rows.append(_rack_row((word("racks-all"), ""), number, counted, texts, word("racks-sum")))
    slots = (row for group in shown for row in _slot_rows(writer, group))
    tables = (
        make_table("racks", writer.language, rows, word("caption-racks")),
        make_table("rack-slots", writer.language, slots, word("caption-rack-slots")),
    )
    return Section("racks", word("section-racks"), text=tuple(text), tables=tables, drawings=drawings)


def _group_row(writer: Writer, group: Elevation) -> Row:
    feeds = writer.word("list-comma").join(group.feeds)
    pdus = writer.language.beside(f"{len(group.pdus)}", feeds) if group.pdus else ""
    texts, heading = (_outlets(writer, group), pdus), writer.word(f"label-{group.kind}_racks")
    return _rack_row(_where(group), group.number, [(1, group)], texts, heading)


def _where(group: Elevation) -> tuple[str, str]:
    return spans_text(group.racks, MOST_SPANS), spans_text(group.rows, MOST_SPANS)


def _rack_row(
    where: tuple[str, str],
    number: int,
    groups: Sequence[tuple[int, Elevation]],
    texts: tuple[str, str],
    heading: str,
) -> Row:
    """Return the row of some racks, with the sums over so many racks of each group."""
    bounds = {name for _, group in groups for name in group.sums.lower_bounds}
    power, weight, units, heat = (
        replace(_sum([(count, getattr(group.sums, name)) for count, group in groups], unit), least=bound in bounds)
        for name, unit, bound in SUMS
    )
    return row_of(*where, number, power, weight, units, *texts, heat, group=heading)


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
    sums, comma = group.sums, writer.word("list-comma")
    needed = comma.join(f"{int(count.value)} {form.upper()}" for form, count in sums.outlets.items()) or "–"
    offered = (f"{int(count.value)} {writer.word(f'outlet-{form}')}" for form, count in sums.pdu_outlets.items())
    if sums.outlets and "outlets" in sums.lower_bounds:
        needed = writer.word("ui-at-least", amount=needed)
    return writer.word("outlets-of", needed=needed, offered=comma.join(offered)) if sums.pdu_outlets else needed


def _slot_rows(writer: Writer, group: Elevation) -> Iterator[Row]:
    for slot in group.slots:
        positioned = slot.unit is not None and slot.top is not None
        names = ", ".join(named_text(named) for named in slot.names[:MOST_SPANS])
        more = len(slot.names) - MOST_SPANS
        yield row_of(
            *_where(group),
            spans_text(((slot.unit or 0, slot.top or 0),)) if positioned else writer.word("units-unknown"),
            slot.pieces,
            _sum([(slot.pieces, slot.drawn_w)], "W"),
            _sum([(slot.pieces, slot.weight_kg)], "kg"),
            f"{names}, … +{more}" if more > 0 else names,
            writer.language.message(slot.identity.name) if slot.identity else "",
        )
    if group.pdus:
        spans = tuple((pdu.unit, pdu.unit + pdu.height_u - 1) for pdu in group.pdus if pdu.unit)
        unit = spans_text(spans) if spans else writer.word("units-beside")
        names = writer.word("list-semicolon").join(pdu_words(writer.language, pdu) for pdu in group.pdus)
        yield row_of(*_where(group), unit, len(group.pdus), None, None, names, "PDU")


# installation -------------------------------------------------------------------------------------------------------
# The chapter of the installation: cables by rack, switches, subnet managers, and what the loss of one switch costs.

MOST_PAIRS = 60
"""Maximum number of pairs of racks in the table; the list of cables has all."""
LOAD = ("compute_pdu_load_w", "feed_power_w")


def installation(writer: Writer) -> Section | None:
    """Return the chapter for those who install and run the network; None without a network with switches."""
    fabrics, word = [built for built in writer.report.design.fabrics if built.fabric.tiers], writer.word
    if not fabrics:
        return None
    from bomgen.cabling.wiring import wire  # needs NumPy

    cables, usual = wire(writer.report.design).each_cable, word("airflow-usual")
    switches = (
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
    tables = make_table("switches", writer.language, switches), *_failures(writer, fabrics), *_racks(writer, cables)
    plan, cluster = writer.report.plan_file, writer.report.plan.cluster_name
    plan = f"{plan} --cluster {cluster}" if cluster else plan
    listing = word("install-cables", plan=plan, count=writer.language.integer(cables.pieces))
    notes = tuple(Note("info", text) for text in (listing, *_managers(writer, fabrics)))
    notes += tuple(Note("warning", text) for text in _mixed_airflows(writer, fabrics))
    return Section("installation", word("section-installation"), tables=tables, notes=notes)


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


def _failures(writer: Writer, fabrics: list[BuiltFabric]) -> Iterator[Table]:
    """Yield a table of uplinks, of the loss of one switch, and of the rating and the load of the PDUs, if known."""
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
    if rows:
        yield writer.table("failures", rows=rows)


def _racks(writer: Writer, cables: Wiring) -> Iterator[Table]:
    """Yield a table of the cables between racks, the pairs with the most cables if there are many."""
    from bomgen.cabling.patch_panels import cables_by_racks  # needs NumPy

    shown = pairs = cables_by_racks(cables)
    if not pairs:
        return
    word, language = writer.word, writer.language
    caption = word("caption-rack-pairs")
    if len(pairs) > MOST_PAIRS:
        most = sorted(range(len(pairs)), key=lambda at: -pairs[at].cables)[:MOST_PAIRS]
        shown = [pairs[at] for at in sorted(most)]
        left = language.integer(len(pairs) - MOST_PAIRS)
        caption = word("caption-rack-pairs-most", shown=language.integer(MOST_PAIRS), left=left)
    rows = []
    for pair in shown:
        lengths = (
            word("install-pieces", count=language.integer(number), name=language.value(length, "m"))
            for length, number in pair.lengths
        )
        rows.append(row_of(pair.first, pair.second, pair.cables, word("list-comma").join(lengths)))
    yield make_table("rack-pairs", language, rows, caption)


# fabrics ------------------------------------------------------------------------------------------------------------
# The chapter of the networks: their numbers, and the options selected for their links, with the rejected ones.


def network(writer: Writer, drawings: tuple[Drawing, ...]) -> Section | None:
    """Return the chapter of the fabrics with their drawings; None if there are none."""
    if not writer.report.design.fabrics:
        return None
    tables = []
    for built in writer.report.design.fabrics:
        tables.append(_fabric_table(writer, built))
        if built.interconnect.choices:
            name = built.plan.name
            title = writer.word("table-links", name=writer.fabric_title(name))
            tables.append(
                make_table("links", writer.language, _link_rows(writer, built), id=f"links-{name}", title=title)
            )
    return Section("network", writer.word("section-network"), tables=tuple(tables), drawings=drawings)


def _link_rows(writer: Writer, built: BuiltFabric) -> Iterator[Row]:
    """Yield a row per kind of link: the option selected, its reason, and the rejected options."""
    language, word = writer.language, writer.word
    for chosen in built.interconnect.choices:
        parts = word("link-parts", names=word("list-comma").join(chosen.parts)) if chosen.parts else ""
        others = word("list-semicolon").join(
            writer.joined(
                language.value(option.name, "word"),
                f"{language.message(rejection(option))}{_cost(writer, option.cost)}",
            )
            for option in chosen.others
        )
        reason = f"{word(f'chosen-{chosen.reason}')}{_cost(writer, chosen.cost)}"
        yield row_of(writer.place(chosen.kind), f"{language.value(chosen.option, 'word')}{parts}", reason, others)
        for short in built.interconnect.short_links(chosen.kind):
            parts = word("link-parts", names=word("list-comma").join(short.medium.part_ids))
            yield row_of(
                word("short-links", kind=writer.place(chosen.kind), length=language.value(short.longest_m, "m")),
                f"{language.value(short.medium.option, 'word')}{parts}",
                word("chosen-short", links=language.number(short.links.value)),
                "",
            )


def _cost(writer: Writer, cost: Fraction | None) -> str:
    if cost is None:
        return ""
    currency = writer.report.quote.totals.currency
    return writer.word("cost-of-link", amount=writer.language.money(rounded(cost, currency), currency))


def _fabric_table(writer: Writer, built: BuiltFabric) -> Table:
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


# acceptance ---------------------------------------------------------------------------------------------------------
# Handing a cluster over: the software of its machines to agree on, and tests with their targets, which are numbers of
# the design: what was promised is what is measured. A number is never a target of its own here.

MEASURED: dict[str, tuple[Path, ...]] = {
    "burn-in": (("site", "compute_rack_power_w"), ("site", "power_w")),
    "feed": (("site", "feed_power_w"),),
    "storage": (("storage", "delivered_read_bytes_per_second"), ("storage", "delivered_write_bytes_per_second")),
    "workload": (
        ("workload", "mfu"),
        ("workload", "tokens_per_second"),
        ("workload", "requests_per_minute"),
        ("workload", "latency", "ttft_seconds"),
        ("workload", "latency", "decode_seconds_per_token"),
    ),
}
"""Numbers of the cluster that are measured, by the test that measures them."""
OF_FABRIC = (
    ("all-reduce", ("per_gpu", "network_gbps")),
    ("bisection", ("bisection_gbps",)),
    ("oversubscription", ("oversubscription", "leaf")),
)
LOSSES = {"leaf-endpoints": "leaf", "leaf-server": "leaf", "spine-share": "spine"}
"""The switch that a test turns off, by the name of what its loss costs."""


def acceptance(writer: Writer) -> Section | None:
    """Return the chapter with the software of the machines and the tests; None without servers and switches."""
    cluster, word, message = writer.report.plan.cluster, writer.word, writer.language.message
    fabrics = [built for built in writer.report.design.fabrics if built.fabric.tiers]
    if not fabrics or not cluster.server:
        return None
    machines = [("server", message(cluster.server.identity.name))]
    machines += [("nic", message(part.identity.name)) for part in (cluster.server_nic, cluster.storage_nic) if part]
    machines += [("switch", message(tier.switch.identity.name)) for built in fabrics for tier in built.fabric.tiers]
    if any(_protocol(built) == INFINIBAND for built in fabrics):
        machines.append(("manager", word("software-of-manager")))
    # Versions are agreed on, and noted at delivery.
    versions = (row_of(name, word(f"software-{kind}"), "", "") for kind, name in dict.fromkeys(machines))
    software = make_table("software", writer.language, versions, word("caption-software"))

    def tests(test: str, paths: Sequence[Path]) -> Iterator[Row]:
        for path in paths:
            if path in writer.numbers:
                yield row_of(writer.label(path), writer.key_figure(path), word(f"measure-{test}"), "")

    rows = (
        *tests("machines", (("cluster", "servers"), ("cluster", "gpus"))),
        *(row for built in fabrics for row in _tests_of_fabric(writer, built)),
        *(row for test, paths in MEASURED.items() for row in tests(test, paths)),
    )
    tables = software, make_table("acceptance", writer.language, rows)
    return Section("acceptance", word("section-acceptance"), (word("acceptance-lead"),), tables)


def _tests_of_fabric(writer: Writer, built: BuiltFabric) -> Iterator[Row]:
    name, kind, reserved = built.plan.name, _protocol(built), built.plan.reserved_ports

    def row(label: str, target: Cell, test: str) -> Row:
        return row_of(writer.joined(writer.fabric_title(name), label), target, writer.word(f"measure-{test}"), "")

    for links in built.fabric.links:
        # Reserved ports are among the links, and have no cable yet.
        without_cable = int(reserved.value) if reserved and links.kind == SERVER_LEAF.name else 0
        count = Cell(int(links.count.value) - without_cable, "links")
        yield row(writer.group_label(("links", links.kind)), count, f"links-{kind}")
    for test, steps in ((f"rate-{kind}", ("link_gbps",)), *OF_FABRIC):
        path = ("fabrics", name, *steps)
        if path in writer.numbers:
            yield row(writer.group_label(steps), writer.cell(path), test)
    figures = [(f"install-{loss}", figure, LOSSES[loss]) for loss, figure in losses(built.fabric) if loss in LOSSES]
    if kind == INFINIBAND:
        errors = "acceptance-bit-errors"
        figures.insert(0, (errors, built_in_assumption(errors), "bit-errors"))
    for key, figure, test in figures:
        yield row(writer.word(key), Cell(writer.held(figure), figure.unit, estimate=figure.bounds), test)


def _protocol(built: BuiltFabric) -> str:
    protocols = {tier.switch.protocol for tier in built.fabric.tiers}
    return INFINIBAND if protocols == {INFINIBAND} else "ethernet"
