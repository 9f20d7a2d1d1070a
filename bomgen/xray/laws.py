"""Findings about a bill, and consistency checks of the lines of any fabric: modules, matching fibres, enough cages.

Lines that state their fabric and links are checked by these; all others of a cluster together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Literal, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.parts import ANY, GENERIC, Cable, Module, Switch
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.document import group_by
from bomgen.core.messages import Message, Parameter, message
from bomgen.core.provenance import Mark
from bomgen.core.units import ANY_AMOUNT
from bomgen.optics.compatibility import accepts, rules
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.part_numbers import Recognition
from bomgen.reading.point_to_point import SheetCable
from bomgen.reading.quote_workbook import name_cell
from bomgen.xray.lines import SERVER_LEAF, joins_servers

Severity = Literal["error", "doubt", "unknown"]
SEVERITIES: tuple[Severity, ...] = ("error", "doubt", "unknown")
"""Wrong under any reading of the bill; in conflict with the best-matching design; not known from the bill."""
TELLING = ("missing", "swapped", "instead", "probable", "mistyped")
"""Findings from which others may follow."""
PINPOINTED, LIKELY, GENERAL = 0, 1, 2
"""How precisely a finding identifies the wrong line."""


class Finding(NamedTuple):
    """A finding about a bill."""

    severity: Severity
    message: Message
    mark: Mark
    line: SentLine | None = None
    pieces: int = 0
    """Surplus pieces (positive) or missing pieces (negative)."""
    money: Decimal | None = None
    """Cost of these pieces at the bill's price, or the error of an amount."""
    weight: int = LIKELY
    part: str = ""

    @property
    def code(self) -> str:
        """Return the code of the finding for programs."""
        return self.message.code.removeprefix("xray-")


def name_place(mark: Mark) -> str:
    """Return the place of a line: `quote.csv:7`, or `Compute!A7` on a sheet of a workbook."""
    return name_cell(mark.sheet, mark) if mark.sheet else f"{mark.file}:{mark.line}"


def at_cable(cable: SheetCable, code: str, **parameters: Parameter) -> Finding:
    """Return an error at a row of a point-to-point sheet."""
    return Finding("error", message(f"xray-{code}", **parameters), cable.mark, weight=PINPOINTED)


def at_line(
    severity: Severity, line: SentLine, code: str, off: int = 0, weight: int = LIKELY, **parameters: Parameter
) -> Finding:
    """Return a finding at a line; the pieces it is `off` by are priced as on the line."""
    money = None
    if line.unit_price is not None and off:
        price = ANY_AMOUNT.multiply(line.unit_price, 1 - (line.discount or Decimal(0)))
        money = ANY_AMOUNT.multiply(price, Decimal(off))
    said = message(f"xray-{code}", **parameters)
    return Finding(severity, said, line.mark, line, off, money, weight, line.id)


def ordered(findings: list[Finding]) -> list[Finding]:
    """Return findings by severity, precision and pieces; missing and replaced parts before counts that may follow."""

    def place(finding: Finding) -> tuple[int, int, bool, int, int]:
        telling = finding.code in TELLING
        return SEVERITIES.index(finding.severity), finding.weight, not telling, -abs(finding.pieces), finding.mark.line

    return sorted(findings, key=place)


# consistency ---------------------------------------------------------------------------------------------------------

MOST_ENGINES = 2
"""Maximum number of links of an unknown module."""
MOST_IDLE = Fraction(3, 2)
"""Modules per fibre end above which fibres are missing; leaves that are not full may have modules without a cable."""
SPARED = ("transceiver", "cable", "switch", "nic")
SPARE_SHARE = Fraction(1, 10)
"""Share of the pieces that may be spares without a column of spares."""


class ConsistencyChecks:
    """Checks of the lines of a bill against catalogue figures."""

    def __init__(self, bill: SentBill) -> None:
        self.bill = bill
        self.rules = rules(bill.catalog)
        self.switches: dict[str, Switch] = {}
        self.unknown: dict[str, dict[str, int]] = {}
        """Pieces on unrecognised lines that may be of a kind of part, by fabric."""

    def findings(self) -> Iterator[Finding]:
        """Yield the findings of all checks."""
        fabrics = self._fabrics()
        # Several kinds of switches without stated position may be several networks, or no network at all.
        unplaced = {line.id for line in fabrics[0] if line.kind == "switch" and not line.place.fabric}
        mixed = len(fabrics) == 1 and len(unplaced) > 1
        for lines in fabrics:
            broken = [*self._check_ends(lines), *self._check_cages(lines)]
            for group in _by_links(lines):
                broken += self._check_fibres(group)
            yield from (finding._replace(severity="doubt", weight=GENERAL) if mixed else finding for finding in broken)
        yield from self._check_far_ends()
        yield from self._check_plugs()
        yield from self._check_spares()

    def _fabrics(self) -> list[list[SentLine]]:
        switches = [line for line in self.bill.lines if line.kind == "switch"]
        named = dict.fromkeys((line.cluster, line.place.fabric) for line in switches)
        if not any(fabric for _, fabric in named):
            return [list(self.bill.lines)]
        links = (line for line in self.bill.lines if line.kind in ("transceiver", "cable") and line.place.links)
        linked = ((line.cluster, line.place.fabric) for line in links)
        by_fabric = group_by(self.bill.lines, lambda line: (line.cluster, line.place.fabric))
        return [by_fabric[name] for name in dict.fromkeys((*named, *linked)) if name[1]]

    def _module(self, line: SentLine) -> Module:
        return part_records.module(line.record, line.catalog)

    def _cable(self, line: SentLine) -> Cable:
        return part_records.cable(line.record, line.catalog)

    def _switch(self, line: SentLine) -> Switch | None:
        if line.kind != "switch":
            return None
        if line.id not in self.switches:
            with suppress(PlanErrors):
                self.switches[line.id] = part_records.switch(line.record)
        return self.switches.get(line.id)

    def _check_ends(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        switches = [self._switch(line) for line in lines if line.kind == "switch"]
        built_in = any(switch and any(group.optics for group in switch.groups) for switch in switches)
        # Unrecognised parts may be the ones that seem to be missing.
        unknown = self._count_unknown("transceiver", lines) * MOST_ENGINES
        if not switches and not self._count_unknown("switch", lines):
            yield from self._no_switch(lines)
        if built_in or any(line.kind == "panel" for line in lines) or not switches:
            return
        if self.bill.has_uncounted("transceiver"):
            return  # the number of modules is unknown
        modules = [line for line in lines if line.kind == "transceiver" and line.quantity]
        cables = [line for line in lines if line.kind == "cable" and line.quantity]
        if any(self._cable(line).medium == "trunk" for line in cables):
            return
        fibres = [line for line in cables if self._cable(line).medium == "fibre"]
        if all(line.place.links for line in (*modules, *fibres)) and all(line.place.tier for line in modules):
            modules_by_links = group_by(modules, lambda line: line.place.links)
            for links, fibres_here in group_by(fibres, lambda line: line.place.links).items():
                lower, _, upper = links.partition("-")
                if lower != upper:
                    yield from self._check_links(modules_by_links.get(links, []), fibres_here, unknown)
            return
        for kind in dict.fromkeys(str(self._cable(line).fibre) for line in fibres):
            alike = [line for line in fibres if self._cable(line).fibre == kind]
            lit = [line for line in modules if self._module(line).fibre in (kind, ANY)]
            if not lit:
                continue  # the wrong kind of fibre, which is a separate finding
            ends = sum((line.quantity or 0) * self._ends(self._cable(line)) for line in alike)
            engines = self._engines(lit)
            slack = 0 if self.bill.has_spares else ceil(ends * SPARE_SHARE)
            lightable = {self._module(line).fibre for line in modules}
            odd = [line for line in fibres if str(self._cable(line).fibre) not in lightable]  # reported as wrong
            of_all = ends + sum((line.quantity or 0) * self._ends(self._cable(line)) for line in odd)
            if of_all * MOST_IDLE < engines and not self._count_unknown("cable", lines):
                yield self._few_fibres(alike, engines // 2, ends // 2)
            if ends - engines <= slack:
                continue
            missing = ends - engines - unknown
            if missing <= 0:
                yield at_line("unknown", alike[0], "ends-open", weight=GENERAL, ends=ends, engines=engines)
            elif absent := self._absent_end(lit):
                part, device = alike[0].shown, absent.shown
                yield at_line("error", alike[0], "no-module-fits", ends=missing, part=part, device=device)
            else:
                line = min(lit, key=lambda module: module.quantity or 0)
                pieces = -ceil(Fraction(missing, int(self._module(line).ports.value)))
                most = engines + unknown
                yield at_line("error", line, "ends", pieces, ends=ends, engines=most, missing=-pieces, part=line.shown)
        counts = [line.quantity for line in self.bill.lines if line.kind == "cable"]
        if modules and counts and not any(quantity is None or quantity for quantity in counts):
            yield at_line("doubt", modules[0], "no-cables", part=modules[0].shown)

    def _absent_end(self, modules: Sequence[SentLine]) -> SentLine | None:
        plugs = {self._module(line).cage for line in modules}
        has_nics = any(line.kind == "nic" for line in self.bill.lines)
        for line in self.bill.lines:
            if line.kind == "switch" and (switch := self._switch(line)):
                cages = {group.cage for group in switch.groups}
            elif line.kind == "server" and not has_nics:
                cages = {str(line.record.value("cage") or ANY)}
            else:
                continue
            if not any(accepts(cage, plug, self.rules) for cage in cages for plug in plugs):
                return line
        return None

    def _no_switch(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        first = next((line for line in lines if line.kind in ("transceiver", "cable")), None)
        if joins_servers(lines):
            return
        if first and first.place.fabric:
            yield at_line("error", first, "no-switch", weight=LIKELY, fabric=first.place.fabric)
        elif first:
            severity: Severity = "doubt" if any("server" in line.kinds for line in lines) else "unknown"
            yield at_line(severity, first, "without-switches", weight=GENERAL)

    def _count_unknown(self, kind: str, lines: Sequence[SentLine]) -> int:
        """Return the pieces on unrecognised lines that may be of a kind of part, in the fabric of these lines."""
        if kind not in self.unknown:
            maybe = [line for line in self.bill.lines if line.may_be(kind)]
            by_fabric = group_by(maybe, lambda line: line.place.fabric)
            self.unknown[kind] = {name: sum(line.quantity or 0 for line in group) for name, group in by_fabric.items()}
        fabrics = {line.place.fabric for line in lines} | {""}
        return sum(self.unknown[kind].get(fabric, 0) for fabric in fabrics)

    def _check_far_ends(self) -> Iterator[Finding]:
        kinds = {line.kind for line in self.bill.lines}
        modules = [line for line in self.bill.lines if line.kind == "transceiver" and line.quantity]
        switches = [self._switch(line) for line in self.bill.lines if line.kind == "switch"]
        built_in = any(switch is None or any(group.optics for group in switch.groups) for switch in switches)
        # Unrecognised modules may be those of the other end.
        elsewhere = any(line.place.tier != "server" and line.may_be("transceiver") for line in self.bill.lines)
        if "cable" in kinds or not modules or not switches or built_in or elsewhere:
            return
        if all(line.place.tier == "server" for line in modules):
            links = self._engines(modules)
            yield at_line("error", modules[0], "one-end", -links, part=modules[0].shown, links=links)

    def _engines(self, modules: Sequence[SentLine]) -> int:
        return sum(line.links for line in modules)

    def _check_links(self, modules: Sequence[SentLine], fibres: Sequence[SentLine], unknown: int) -> Iterator[Finding]:
        """Check modules at both ends against fibres of a kind of links; `unknown` links may have unlisted modules."""
        ends = sum((line.quantity or 0) * self._ends(self._cable(line)) for line in fibres)
        by_tier = group_by(modules, lambda line: line.place.tier)
        tiers = list(by_tier)
        if len(tiers) == 1 and (dark := ends - self._engines(modules)) > unknown:
            yield at_line("error", modules[0], "one-end", -dark, part=modules[0].shown, links=dark)
            return
        if any(self._ends(self._cable(line)) > 2 for line in fibres):
            return  # a breakout cable has more ends at one side
        links = ends // 2
        slack = max(unknown, 0 if self.bill.has_spares else ceil(links * SPARE_SHARE))
        at = {tier: self._engines(modules_of_tier) for tier, modules_of_tier in by_tier.items()}
        short = [tier for tier in tiers if at[tier] + slack < links]
        if len(tiers) > 1 and min(at.values()) - links > slack + self._count_unknown("cable", fibres):
            yield self._few_fibres(fibres, min(at.values()), links)
        if not short or not links:
            return
        if len(short) == len(tiers):
            line, most = fibres[0], max(at.values())
            yield at_line("error", line, "many", links - most, part=line.shown, given=links, expected=most)
            return
        for tier in short:
            line = by_tier[tier][0]
            pieces = -ceil(Fraction(links - at[tier], int(self._module(line).ports.value)))
            yield at_line("error", line, "ends", pieces, ends=links, engines=at[tier], missing=-pieces, part=line.shown)

    def _few_fibres(self, fibres: Sequence[SentLine], links: int, fewer: int) -> Finding:
        return at_line("doubt", fibres[0], "few-fibres", fewer - links, part=fibres[0].shown, links=links, fibres=fewer)

    def _ends(self, cable: Cable) -> int:
        if cable.b is not None and cable.b.ends > 1:
            return 1 + cable.b.ends
        return 1 + int(cable.links.value)

    def _check_cages(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        by_tier = group_by(
            (line for line in lines if line.place.tier and line.quantity), lambda line: (line.kind, line.place.tier)
        )
        for (kind, tier), switch_lines in by_tier.items():
            if kind != "switch":
                continue
            switches = [self._switch(line) for line in switch_lines]
            modules = by_tier.get(("transceiver", tier), [])
            records = (line.record for line in modules)
            if None in switches or any(record.data.get("vendor") == GENERIC for record in records):
                continue
            cages = 0
            for line, switch in zip(switch_lines, switches, strict=True):
                if switch is None or switch.chassis:
                    cages = 0
                    break
                cages_of_switch = sum(ceil(group.ports.value / group.ports_per_cage.value) for group in switch.groups)
                cages += (line.quantity or 0) * cages_of_switch * int(switch.switches_per_unit.value)
            needed = sum(line.quantity or 0 for line in modules)
            slack = 0 if self.bill.has_spares else ceil(needed * SPARE_SHARE)
            if cages and needed > cages + slack:
                line, pieces = switch_lines[0], -ceil(Fraction(needed - cages, cages) * (switch_lines[0].quantity or 1))
                yield at_line("error", line, "cages", pieces, needed=needed, cages=cages, part=line.shown)

    def _check_plugs(self) -> Iterator[Finding]:
        """Check that a fixed-end cable fits a port of a switch, at a rate that the port supports."""
        switch_lines = [line for line in self.bill.lines if "switch" in line.kinds]
        # Without a column of fabrics, words may describe a connected part.
        states_fabric = "fabric" in self.bill.columns
        by_fabric = group_by(switch_lines, lambda line: line.place.fabric) if states_fabric else {}
        by_fabric[""] = switch_lines  # a line without a stated fabric may be at any switch
        switches = {fabric: [self._switch(line) for line in listed] for fabric, listed in by_fabric.items()}
        for line in self.bill.lines:
            cable = self._cable(line) if line.kind == "cable" and line.quantity else None
            here = switches.get(line.place.fabric if states_fabric else "", [])
            if cable is None or not cable.link_gbps or not here or None in here:
                continue
            plugs = [end.cage for end in (cable.a, cable.b) if end]
            groups = [group for switch in here if switch for group in switch.groups]
            cages = {group.cage for group in groups if group.port_gbps.value >= cable.link_gbps}
            if not any(accepts(cage, plug, self.rules) for cage in cages for plug in plugs):
                plug = " / ".join(dict.fromkeys(plugs)).upper()
                off = line.quantity or 0
                yield at_line("doubt", line, "no-port", off, part=line.shown, plug=plug, rate=cable.link_gbps)

    def _check_fibres(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        modules = list({line.id: self._module(line) for line in lines if line.kind == "transceiver"}.values())
        unknown = self._count_unknown("transceiver", lines) * MOST_ENGINES
        for line in lines:
            if line.kind != "cable":
                continue
            cable = self._cable(line)
            if cable.medium != "fibre" or cable.fibre in (None, ANY):
                continue
            # An unrecognised module may be the one for a fibre.
            severity: Severity = "doubt" if unknown >= (line.quantity or 0) else "error"
            say = partial(at_line, severity, line, off=line.quantity or 0, part=line.shown)
            needed = self.rules.polarities.get(str(cable.connector))
            if needed and cable.polarity and cable.polarity != needed:
                yield say("polarity", polarity=cable.polarity, needed=needed)
            alike = [module for module in modules if module.fibre in (cable.fibre, ANY)]
            plugs = {connector for connector in (cable.connector, cable.far_connector) if connector}
            # A placeholder module represents one of any connector.
            fitting = [each for each in alike if ANY in (each.fibre, each.connector, *plugs) or each.connector in plugs]
            length = line.recognition.named.length_m if line.recognition.named else None
            reaches = [module.reach_m.value if module.reach_m else None for module in fitting]
            reach = max(reach or 0 for reach in reaches) if reaches and None not in reaches else None
            if modules and not alike:
                yield say("wrong-fibre", fibre=str(cable.fibre), needed=modules[0].fibre)
            elif alike and plugs and not fitting:
                yield say("wrong-connector", connector=str(cable.connector), needed=alike[0].connector)
            elif length and reach and length > reach:
                yield say("reach", reach=f"{float(reach):g}", length=f"{float(length):g}")

    def _check_spares(self) -> Iterator[Finding]:
        for kind in SPARED if self.bill.has_spares else ():
            lines = [line for line in self.bill.lines if line.kind == kind and line.quantity and not line.in_stock]
            by_part = group_by(lines, _spared_part)
            spared = {part for part, listed in by_part.items() if any(line.spare for line in listed)}
            for part, listed in by_part.items():
                if spared and part not in spared:
                    yield at_line("doubt", listed[0], "no-spares", weight=LIKELY, part=listed[0].shown)


def _spared_part(line: SentLine) -> str:
    """Return the part that spares replace, with the cage that words name beside it, such as a flat top."""
    named = line.recognition.named
    return f"{named.part if named else ''} {line.recognition.words.cage}"


def _by_links(lines: Sequence[SentLine]) -> Iterator[list[SentLine]]:
    # A cable of an unsold length counts as one of its family.
    read = (
        line._replace(recognition=Recognition(unsold)) if (unsold := line.recognition.unsold) else line
        for line in lines
    )
    linked = [line for line in read if line.kind in ("transceiver", "cable") and line.quantity]
    if any(not line.place.links for line in linked):
        yield linked
        return
    yield from group_by(linked, lambda line: line.place.links).values()


# point-to-point sheets ------------------------------------------------------------------------------------------------

MOST_CROSSED = 10
"""Links of the usual rails of a leaf, for each of a rail that seems to be crossed."""


def check_wiring(cables: Sequence[SheetCable]) -> Iterator[Finding]:
    """Yield the errors of a point-to-point sheet."""
    used: dict[tuple[str, str], SheetCable] = {}
    for cable in cables:
        for end in (cable.a, cable.b):
            if not end.device or not end.port:
                yield at_cable(cable, "cable-without-end", device=end.device or "?")
                continue
            first = used.setdefault((end.device.lower(), end.port.lower()), cable)
            if first is not cable:
                yield at_cable(cable, "port-used-twice", device=end.device, port=end.port, at=name_place(first.mark))
        if cable.a[:2] == cable.b[:2] and cable.a.port:
            yield at_cable(cable, "cable-to-itself", device=cable.a.device, port=cable.a.port)
    yield from _check_rails(cables)


def _check_rails(cables: Sequence[SheetCable]) -> Iterator[Finding]:
    """Yield the links of a leaf to a rail other than those of nearly all of its links."""
    below = [cable for cable in cables if cable.links == SERVER_LEAF and (cable.a.rail or cable.b.rail)]
    for leaf, of_leaf in group_by(
        below, lambda cable: max(cable.a, cable.b, key=lambda end: end.tier == "leaf").device
    ).items():
        rails = Counter(cable.a.rail or cable.b.rail for cable in of_leaf)
        usual = max(rails.values())
        for cable in of_leaf:
            rail = cable.a.rail or cable.b.rail
            if rails[rail] * MOST_CROSSED <= usual:
                yield at_cable(cable, "crossed-rail", leaf=leaf, rail=rail, usual=rails.most_common(1)[0][0])
