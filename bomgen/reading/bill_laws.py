"""What holds for the lines of any fabric, whatever was meant: ends have modules, fibres match, cages suffice.

Lines that say which fabric and which links they belong to are judged by these; all others of a cluster together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.identity import identity
from bomgen.catalog.parts import ANY, GENERIC, PIECE, Cable, Module, Switch
from bomgen.core.diagnostics import PlanErrors
from bomgen.optics.compatibility_rules import rules
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.findings import GENERAL, LIKELY, Finding, at_line

FIBRE, TRUNK, PANEL = "fibre", "trunk", "panel"
SPARED = ("transceiver", "cable", "switch", "nic")
"""Kinds of parts that spares are bought of."""
SPARE_SHARE = Fraction(1, 10)
"""Without a column of spares so many of the pieces may be spares."""


class Requirements:
    """What an order of the parts of a bill needs besides, as far as the bill has lines of it, such as cords."""

    def __init__(self, bill: SentBill, catalog: Catalog) -> None:
        self.catalog = catalog
        self.each: dict[tuple[str, str], dict[str, Fraction]] = {}
        """Pieces by the id of what is required, for a piece of the part of a kind and id that requires it."""
        have = dict[str, int]()
        needed = dict[str, Fraction]()
        for line in bill.lines:
            if line.id and line.quantity:
                have[line.id] = have.get(line.id, 0) + line.quantity
                for id, pieces in self.of_part(line.kind, line.id).items():
                    needed[id] = needed.get(id, Fraction(0)) + pieces * line.quantity
        self.lacking = {id: pieces - have[id] for id, pieces in needed.items() if id in have}
        """Pieces that are missing (more than 0) or too many."""

    def of_part(self, kind: str, id: str) -> Mapping[str, Fraction]:
        """The pieces of other parts that each piece of a part requires, by their ids."""
        if (kind, id) not in self.each:
            try:
                needs = identity(self.catalog.find_original(kind, id)).requires
            except UnknownPart:  # a line card, which the record of its switch describes
                needs = ()
            self.each[kind, id] = {
                need.parts[0]: Fraction(need.quantity.value)
                for need in needs
                if len(need.parts) == 1 and need.per == PIECE and need.quantity is not None
            }
        return self.each[kind, id]

    def count_broken(self, surplus: Iterable[tuple[str, str, int]]) -> int:
        """Required parts whose pieces are wrong once the surplus of others, by kind and id, is taken off the bill."""
        lacking = dict(self.lacking)
        for kind, id, pieces in surplus:
            for needed, each in self.of_part(kind, id).items():
                if needed in lacking:
                    lacking[needed] -= each * pieces
        return sum(1 for pieces in lacking.values() if pieces)


class Laws:
    """Judges the lines of a bill by the catalogue's figures."""

    def __init__(self, bill: SentBill, catalog: Catalog) -> None:
        self.bill, self.catalog = bill, catalog
        self.rules = rules(catalog)

    def findings(self) -> Iterator[Finding]:
        """Everything that breaks a law."""
        fabrics = self._fabrics()
        # Several kinds of switch that do not say where they belong may be several networks, or no network at all.
        mixed = (
            len(fabrics) == 1
            and len({line.id for line in fabrics[0] if line.kind == "switch" and not line.place.fabric}) > 1
        )
        for lines in fabrics:
            found = [*self._check_ends(lines), *self._check_cages(lines)]
            for group in _by_links(lines):
                found += self._check_fibres(group)
            yield from (each._replace(severity="doubt", weight=GENERAL) if mixed else each for each in found)
        yield from self._check_required()
        yield from self._check_spares()

    def _fabrics(self) -> list[list[SentLine]]:
        """The lines of each fabric; where no line says which, all of them."""
        named = list(
            dict.fromkeys((line.cluster, line.place.fabric) for line in self.bill.lines if line.kind == "switch")
        )
        if not any(fabric for _, fabric in named):
            return [list(self.bill.lines)]
        linked = (
            (line.cluster, line.place.fabric)
            for line in self.bill.lines
            if line.kind in ("transceiver", "cable") and line.place.links
        )
        named = list(dict.fromkeys((*named, *linked)))
        return [
            [line for line in self.bill.lines if (line.cluster, line.place.fabric) == name] for name in named if name[1]
        ]

    def _module(self, line: SentLine) -> Module:
        return part_records.module(self.catalog.find_original("transceiver", line.id), self.catalog)

    def _cable(self, line: SentLine) -> Cable:
        return part_records.cable(self.catalog.find_original("cable", line.id), self.catalog)

    def _switch(self, line: SentLine) -> Switch | None:
        try:
            return part_records.switch(self.catalog.find_original("switch", line.id))
        except PlanErrors:
            return None

    def _check_ends(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        """Each end of a fibre needs the engine of a module."""
        switches = [self._switch(line) for line in lines if line.kind == "switch"]
        built_in = any(switch and any(group.optics for group in switch.groups) for switch in switches)
        if not switches and (first := next((line for line in lines if line.kind in ("transceiver", "cable")), None)):
            yield at_line("error", first, "no-switch", weight=LIKELY, fabric=first.place.fabric)
        if built_in or any(line.kind == PANEL for line in lines) or not switches:
            return
        modules = [line for line in lines if line.kind == "transceiver" and line.quantity]
        cables = [line for line in lines if line.kind == "cable" and line.quantity]
        if any(self._cable(line).medium == TRUNK for line in cables):
            return
        fibres = [line for line in cables if self._cable(line).medium == FIBRE]
        told = [
            line
            for line in (*modules, *fibres)
            if not line.place.links or (line.kind == "transceiver" and not line.place.tier)
        ]
        if not told:
            for links in dict.fromkeys(line.place.links for line in fibres):
                lower, _, upper = links.partition("-")
                if lower == upper:
                    continue
                yield from self._check_links(
                    [line for line in modules if line.place.links == links],
                    [line for line in fibres if line.place.links == links],
                )
            return
        for kind in dict.fromkeys(str(self._cable(line).fibre) for line in fibres):
            of_kind = [line for line in fibres if self._cable(line).fibre == kind]
            lit = [line for line in modules if self._module(line).fibre in (kind, ANY)]
            if not lit:
                continue  # the wrong kind of fibre, which is another finding
            ends = sum((line.quantity or 0) * self._ends(self._cable(line)) for line in of_kind)
            engines = self._engines(lit)
            missing = ends - engines
            slack = 0 if self.bill.has_spares else ceil(ends * SPARE_SHARE)
            if missing > slack:
                line = min(lit, key=lambda each: each.quantity or 0)
                pieces = -ceil(Fraction(missing, int(self._module(line).ports.value)))
                yield at_line(
                    "error", line, "ends", pieces, ends=ends, engines=engines, missing=-pieces, part=line.shown
                )
        if modules and not cables and any(line.kind == "cable" for line in self.bill.lines):
            yield at_line("doubt", modules[0], "no-cables", part=modules[0].shown)

    def _engines(self, modules: Sequence[SentLine]) -> int:
        return sum((line.quantity or 0) * int(self._module(line).ports.value) for line in modules)

    def _check_links(self, modules: Sequence[SentLine], fibres: Sequence[SentLine]) -> Iterator[Finding]:
        """Modules at either end and the fibres of one kind of links, which are straight."""
        if any(self._ends(self._cable(line)) > 2 for line in fibres):
            return
        links = sum(line.quantity or 0 for line in fibres)
        slack = 0 if self.bill.has_spares else ceil(links * SPARE_SHARE)
        tiers = list(dict.fromkeys(line.place.tier for line in modules))
        at = {tier: self._engines([line for line in modules if line.place.tier == tier]) for tier in tiers}
        if links and len(tiers) == 1:
            own = [line for line in modules if line.place.tier == tiers[0]]
            yield at_line("error", own[0], "one-end", -links, part=own[0].shown, links=links)
            return
        short = [tier for tier in tiers if at[tier] + slack < links]
        if not short or not links:
            return
        if len(short) == len(tiers):
            line, most = fibres[0], max(at.values())
            yield at_line("error", line, "many", links - most, part=line.shown, given=links, expected=most)
            return
        for tier in short:
            own = [line for line in modules if line.place.tier == tier]
            pieces = -ceil(Fraction(links - at[tier], int(self._module(own[0]).ports.value)))
            yield at_line(
                "error", own[0], "ends", pieces, ends=links, engines=at[tier], missing=-pieces, part=own[0].shown
            )

    def _ends(self, cable: Cable) -> int:
        """Engines that a fibre joins."""
        if cable.b is not None and cable.b.ends > 1:
            return 1 + cable.b.ends
        return 1 + int(cable.links.value)

    def _check_cages(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        """The modules of a tier need so many cages."""
        for tier in dict.fromkeys(line.place.tier for line in lines if line.kind == "switch" and line.place.tier):
            of_tier = [line for line in lines if line.kind == "switch" and line.place.tier == tier and line.quantity]
            switches = [self._switch(line) for line in of_tier]
            modules = [
                line for line in lines if line.kind == "transceiver" and line.place.tier == tier and line.quantity
            ]
            real = [
                line
                for line in modules
                if self.catalog.find_original("transceiver", line.id).data.get("vendor") != GENERIC
            ]
            if not of_tier or None in switches or len(real) != len(modules):
                continue
            cages = 0
            for line, switch in zip(of_tier, switches, strict=True):
                if switch is None or switch.chassis:
                    cages = 0
                    break
                each = sum(ceil(group.ports.value / group.ports_per_cage.value) for group in switch.groups)
                cages += (line.quantity or 0) * each * int(switch.switches_per_unit.value)
            needed = sum(line.quantity or 0 for line in modules)
            slack = 0 if self.bill.has_spares else ceil(needed * SPARE_SHARE)
            if cages and needed > cages + slack:
                line, pieces = of_tier[0], -ceil(Fraction(needed - cages, cages) * (of_tier[0].quantity or 1))
                yield at_line("error", line, "cages", pieces, needed=needed, cages=cages, part=line.shown)

    def _check_fibres(self, lines: Sequence[SentLine]) -> Iterator[Finding]:
        """Fibre and modules of links light the same fibre with the same connector, and reach."""
        modules = [self._module(line) for line in lines if line.kind == "transceiver"]
        modules = [module for module in modules if module.fibre != ANY]
        for line in lines:
            if line.kind != "cable":
                continue
            cable = self._cable(line)
            if cable.medium != FIBRE or cable.fibre in (None, ANY):
                continue
            alike = [module for module in modules if module.fibre == cable.fibre]
            pieces = line.quantity or 0
            if modules and not alike:
                yield at_line(
                    "error",
                    line,
                    "wrong-fibre",
                    pieces,
                    part=line.shown,
                    fibre=str(cable.fibre),
                    needed=modules[0].fibre,
                )
                continue
            connectors = {module.connector for module in alike if module.connector != ANY}
            own = {each for each in (cable.connector, cable.far_connector) if each}
            if connectors and own and ANY not in own and not own & connectors:
                yield at_line(
                    "error",
                    line,
                    "wrong-connector",
                    pieces,
                    part=line.shown,
                    connector=str(cable.connector),
                    needed=sorted(connectors)[0],
                )
            needed = self.rules.polarities.get(str(cable.connector))
            if needed and cable.polarity and cable.polarity != needed:
                yield at_line(
                    "error", line, "polarity", pieces, part=line.shown, polarity=cable.polarity, needed=needed
                )
            length = line.recognition.named.length_m if line.recognition.named else None
            reaches = [module.reach_m.value for module in alike if module.reach_m]
            if length and reaches and length > max(reaches):
                yield at_line(
                    "error",
                    line,
                    "reach",
                    pieces,
                    part=line.shown,
                    reach=f"{float(max(reaches)):g}",
                    length=f"{float(length):g}",
                )

    def _check_required(self) -> Iterator[Finding]:
        """What an order of the parts needs besides."""
        have: dict[str, int] = {}
        for line in self.bill.lines:
            have[line.id] = have.get(line.id, 0) + (line.quantity or 0)
        needed: dict[str, dict[str, int]] = {}
        """Pieces by the part that is required and the part that requires it."""
        by: dict[str, SentLine] = {}
        open_items: dict[tuple[str, ...], SentLine] = {}
        for line in self.bill.lines:
            if not line.id or not line.quantity:
                continue
            for need in identity(self.catalog.find_original(line.kind, line.id)).requires:
                if len(need.parts) == 1 and need.per == PIECE and need.quantity is not None:
                    id = need.parts[0]
                    each = needed.setdefault(id, {})
                    each[line.id] = each.get(line.id, 0) + ceil((line.quantity or 0) * need.quantity.value)
                    by.setdefault(line.id, line)
                elif not any(have.get(part) for part in need.parts):
                    open_items.setdefault(need.parts, line)
        for id, wanted in needed.items():
            own = [each for each in self.bill.lines if each.id == id]
            pieces, given = sum(wanted.values()), have.get(id, 0)
            odd, lacking = _odd(own, wanted)
            if odd is None:
                line = by[next(iter(wanted))]
                found = at_line("doubt", line, "required", -pieces, GENERAL, part=id, pieces=pieces, by=line.shown)
                yield found._replace(part=id, money=None)
            elif given != pieces:
                code = "required-few" if given < pieces else "required-many"
                named = by[lacking].shown if lacking else ""
                yield at_line(
                    "doubt",
                    odd,
                    code,
                    given - pieces,
                    LIKELY,
                    part=id,
                    pieces=pieces,
                    given=given,
                    by=named or odd.shown,
                )
        for parts, line in open_items.items():
            yield at_line("unknown", line, "choose", weight=GENERAL, parts=", ".join(parts), by=line.shown)

    def _check_spares(self) -> Iterator[Finding]:
        """Spares of some parts of a kind and not of others."""
        if not self.bill.has_spares:
            return
        for kind in SPARED:
            lines = [line for line in self.bill.lines if line.kind == kind and line.quantity and not line.in_stock]
            by_part: dict[str, list[SentLine]] = {}
            for line in lines:
                by_part.setdefault(line.recognition.named.part if line.recognition.named else "", []).append(line)
            spared = {part for part, own in by_part.items() if any(line.spare for line in own)}
            for part, own in by_part.items():
                if spared and part not in spared:
                    yield at_line("doubt", own[0], "no-spares", weight=LIKELY, part=own[0].shown)


def _odd(lines: Sequence[SentLine], wanted: Mapping[str, int]) -> tuple[SentLine | None, str]:
    """The line whose pieces are what no part requires, and the part whose pieces no line has; the first for none."""
    left = dict(wanted)
    odd = list[SentLine]()
    for line in lines:
        match = next((id for id, pieces in left.items() if pieces == line.quantity), None)
        if match is None:
            odd.append(line)
        else:
            del left[match]
    return next(iter((*odd, *lines)), None), next(iter(left), "")


def _by_links(lines: Sequence[SentLine]) -> Iterator[list[SentLine]]:
    """Lines by the links that they say; where some say none, all together."""
    linked = [line for line in lines if line.kind in ("transceiver", "cable") and line.quantity]
    if any(not line.place.links for line in linked):
        yield linked
        return
    for links in dict.fromkeys(line.place.links for line in linked):
        yield [line for line in linked if line.place.links == links]
