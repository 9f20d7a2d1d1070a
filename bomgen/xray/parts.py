"""Checks of individual parts of a bill, and of the required parts of an order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog, Record, UnknownPart
from bomgen.catalog.identity import identity, unavailable_message
from bomgen.catalog.parts import AVAILABLE, GENERIC, NOT_YET_SOLD, PIECE
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.part_numbers import PART_NUMBER, words_of
from bomgen.reading.part_words import gpus_of
from bomgen.xray.laws import SPARE_SHARE, SPARED
from bomgen.xray.types import GENERAL, LIKELY, PINPOINTED, Finding, Severity, at_line

_FIBRES: Mapping[str, re.Pattern[str]] = {
    "single-mode": re.compile(r"\bsmf?\b|single[- ]?mode|单模|\bos2\b"),
    "multimode": re.compile(r"\bmmf?\b|multi[- ]?mode|多模|\bom[345]\b"),
}
_NANOMETRES: Mapping[str, str] = {"850": "multimode", "1310": "single-mode", "1550": "single-mode"}
_WAVELENGTH = re.compile(r"\b(850|1310|1550)\s*nm\b")
_REACH = re.compile(r"(?:\bup to\s+|传输距离\s*)(\d+(?:\.\d+)?)\s*(k?)m\b")
_LENGTH = re.compile(r"(?<![\d.x×])(\d+(?:\.\d+)?)\s*(?:m|米)(?![a-z])")
_COPPER = re.compile(r"\bcopper\b|\bdac\b|铜缆")
KILOMETRE = 1000


def check_parts(bill: SentBill, catalog: Catalog) -> Iterator[Finding]:
    """Yield findings about each line by itself."""
    for line in bill.lines:
        recognition = line.recognition
        named = recognition.named
        if recognition.unsold:
            yield _unsold(line, catalog.find_original(recognition.unsold.kind, recognition.unsold.id))
        elif named is None:
            if line.quantity is not None and not _is_housing(line):
                yield _unknown(line)
        elif recognition.closest:
            pieces = line.quantity or 0
            yield at_line("doubt", line, "probable", 0, PINPOINTED, number=line.part, part=named.part, pieces=pieces)
        elif recognition.nearest:
            near = ", ".join(recognition.nearest)
            yield at_line("doubt", line, "mistyped", 0, PINPOINTED, number=line.part, part=named.part, near=near)
        if named is None:
            continue
        if line.recognition.others:
            others = ", ".join(each.part for each in line.recognition.others)
            yield at_line("doubt", line, "two-parts", part=named.part, others=others)
        record = catalog.find_original(named.kind, named.id)
        if named.certain and record.data.get("vendor") != GENERIC:
            yield from _contradictions(line, record, catalog)
        called = identity(record)
        if called.availability != AVAILABLE:
            text = unavailable_message(called, named.kind, line.shown)
            if called.availability in NOT_YET_SOLD:  # the order date of a bill is unknown
                yield at_line("unknown", line, "not-yet-sold", weight=GENERAL, text=text)
            else:
                yield at_line("doubt", line, "end-of-sale", weight=GENERAL, text=text)


def _is_housing(line: SentLine) -> bool:
    """Return whether a line is of racks or rack PDUs, which any vendor sells."""
    text = f"{line.part} {line.description}".lower()
    return any(word.search(text) for kind in ("rack", "pdu") for word in words_of("kinds")[kind])


def _unknown(line: SentLine) -> Finding:
    recognition = line.recognition
    if recognition.may_be:
        return at_line("unknown", line, "which-part", part=line.shown, parts=tuple(id for _, id in recognition.may_be))
    if recognition.nearest:
        return at_line("unknown", line, "unknown-near", part=line.shown, near=", ".join(recognition.nearest))
    return at_line("unknown", line, "unknown-part", part=line.shown)


def _unsold(line: SentLine, family: Record) -> Finding:
    unsold = line.recognition.unsold
    length = f"{float(unsold.length_m or 0):g}" if unsold else ""
    lengths = tuple(f"{float(each):g}" for each in family.value("lengths_m"))
    part = str(family.value(PART_NUMBER) or family.id)
    return at_line("doubt", line, "unsold", 0, PINPOINTED, part=part, length=length, lengths=lengths)


def _contradictions(line: SentLine, record: Record, catalog: Catalog) -> Iterator[Finding]:
    text = line.description.lower()
    if record.kind == "transceiver":
        module = part_records.module(record, catalog)
        fibre, reach = module.fibre, module.reach_m.value if module.reach_m else None
        said = {kind for kind, words in _FIBRES.items() if words.search(text)}
        said |= {_NANOMETRES[found] for found in _WAVELENGTH.findall(text)}
        if len(said) == 1 and fibre in _FIBRES and fibre not in said:
            yield _contradicted(line, record, said.pop(), fibre)
        elif fibre in _FIBRES and not said and _COPPER.search(text):
            yield _contradicted(line, record, "copper", fibre)
        if (reach_said := _REACH.search(text)) and reach and len(said) < 2 and fibre not in said ^ {fibre}:
            metres = Fraction(reach_said.group(1)) * (KILOMETRE if reach_said.group(2) else 1)
            if metres > reach:
                found = _contradicted(line, record, f"{float(metres):g} m", f"{float(reach):g} m")
                yield found._replace(severity="doubt")
    elif record.kind == "cable":
        cable = part_records.cable(record, catalog)
        said = {kind for kind, words in _FIBRES.items() if words.search(text)}
        if cable.medium == "fibre" and len(said) == 1 and cable.fibre in _FIBRES and cable.fibre not in said:
            yield _contradicted(line, record, said.pop(), str(cable.fibre))
        length = line.recognition.named.length_m if line.recognition.named else None
        lengths = {Fraction(each) for each in _LENGTH.findall(text)}
        if length and len(lengths) == 1 and length not in lengths:
            yield _contradicted(line, record, f"{float(lengths.pop()):g} m", f"{float(length):g} m")


def _contradicted(line: SentLine, record: Record, said: str, known: str) -> Finding:
    part = str(record.value("part_number") or record.id)
    return at_line("error", line, "contradicted", weight=PINPOINTED, part=part, said=said, known=known)


# bill requirements --------------------------------------------------------------------------------------------------
# Required parts for an order of the parts of a bill, by the catalogue: cords, licences, tools.

GPU, SERVER = "gpu", "server"


class _Need(NamedTuple):
    parts: tuple[str, ...]
    """The part, or the parts to choose from."""
    pieces: Fraction | None
    """None if they depend on the choice, or on a count that a bill does not have."""
    fixed: bool
    sure: bool
    """Whether it is known not to be included with the part that needs it."""


class Requirements:
    """Required parts by the catalogue, compared with the bill."""

    def __init__(self, bill: SentBill, catalog: Catalog) -> None:
        self.bill, self.catalog = bill, catalog
        self.each: dict[tuple[str, str], tuple[_Need, ...]] = {}
        """Requirements of a piece of a part, by its kind and id."""
        self.lines = [line for line in bill.lines if line.id and line.quantity]
        self.have = Counter[str]()
        needed = dict[str, Fraction]()
        for line in self.lines:
            self.have[line.id] += line.quantity or 0
            for id, pieces in self._fixed_of(line.kind, line.id).items():
                needed[id] = needed.get(id, Fraction(0)) + pieces * (line.quantity or 0)
        self.lacking = {id: pieces - self.have[id] for id, pieces in needed.items() if id in self.have}
        """Missing (positive) or surplus pieces of required parts that the bill has lines of."""

    def count_broken(self, surplus: Iterable[tuple[str, str, int]]) -> int:
        """Return the number of required parts with a wrong quantity after the surplus of others is removed."""
        lacking = dict(self.lacking)
        for kind, id, pieces in surplus:
            for needed, each in self._fixed_of(kind, id).items():
                if needed in lacking:
                    lacking[needed] -= each * pieces
        return sum(1 for pieces in lacking.values() if pieces)

    def findings(self) -> Iterator[Finding]:
        """Yield required parts that are missing, too few or too many."""
        fixed: dict[str, Counter[str]] = {}
        """Pieces by required part and requiring part."""
        sure = Counter[str]()
        """Pieces of required parts that are known not to be included."""
        chosen = Counter[tuple[str, ...]]()
        """Pieces of parts to choose from; 0 if unknown."""
        by: dict[str | tuple[str, ...], SentLine] = {}
        """First line that requires a part, or one of several; for the id of a part its own first line."""
        for line in self.lines:
            by.setdefault(line.id, line)
            for need in self._needs_of(line.kind, line.id):
                pieces = ceil((need.pieces or 0) * (line.quantity or 0))
                if need.fixed:
                    fixed.setdefault(need.parts[0], Counter())[line.id] += pieces
                    sure[need.parts[0]] += pieces * need.sure
                elif need.sure:
                    chosen[need.parts] += pieces
                    by.setdefault(need.parts, line)
        for id, wanted in fixed.items():
            yield from self._judge(id, wanted, sure[id], by)
        for parts, pieces in chosen.items():
            yield from self._judge_choice(parts, pieces, by[parts])

    def _judge(
        self, id: str, wanted: Mapping[str, int], sure: int, by: Mapping[str | tuple[str, ...], SentLine]
    ) -> Iterator[Finding]:
        odd, lacking = _odd([line for line in self.bill.lines if line.id == id], wanted)
        pieces, given = sum(wanted.values()), self.have[id]
        name, first = self._name(id), by[next(iter(wanted))]
        if odd is None and sure:
            severity: Severity = "unknown" if self._may_be_there([id]) else "doubt"
            found = at_line(severity, first, "required", -sure, GENERAL, part=name, pieces=sure, by=first.shown)
            yield found._replace(part=id, money=None)
        elif odd and given not in (sure, pieces) and pieces - given not in self._saved(id):
            code = "required-few" if given < pieces else "required-many"
            asking = by[lacking].shown if lacking else odd.shown
            yield at_line("doubt", odd, code, given - pieces, LIKELY, part=name, pieces=pieces, given=given, by=asking)

    def _may_be_there(self, parts: Iterable[str]) -> bool:
        kinds = {self.catalog.find_part(part).kind for part in parts}
        return any(line.may_be(kind) for line in self.bill.lines for kind in kinds)

    def _saved(self, id: str) -> set[int]:
        """Return the possible savings of a required part by spares that are not in a separate column."""
        saved = {0}
        for line in () if self.bill.has_spares else self.bill.lines:
            each = self._fixed_of(line.kind, line.id).get(id)
            if each and line.kind in SPARED:
                most = ceil((line.quantity or 0) * SPARE_SHARE)
                saved = {other + ceil(each * spares) for other in saved for spares in range(most + 1)}
        return saved

    def _judge_choice(self, parts: tuple[str, ...], pieces: int, first: SentLine) -> Iterator[Finding]:
        given = sum(self.have[part] for part in parts)
        names = tuple(map(self._name, parts))
        if not given and pieces:
            yield at_line("unknown", first, "choose-pieces", 0, GENERAL, pieces=pieces, parts=names, by=first.shown)
        elif not given:
            yield at_line("unknown", first, "choose", 0, GENERAL, parts=names, by=first.shown)
        elif given < pieces:
            line = next(line for line in self.bill.lines if line.id in parts)
            off, part, by = given - pieces, line.shown, first.shown
            yield at_line("doubt", line, "required-few", off, LIKELY, part=part, pieces=pieces, given=given, by=by)

    def _name(self, id: str) -> str:
        return identity(self.catalog.find_part(id)).name

    def _fixed_of(self, kind: str, id: str) -> dict[str, Fraction]:
        return {need.parts[0]: need.pieces for need in self._needs_of(kind, id) if need.fixed and need.pieces}

    def _needs_of(self, kind: str, id: str) -> tuple[_Need, ...]:
        """Return the requirements of a piece of a part; for a server including those of its GPUs."""
        if (kind, id) not in self.each:
            try:
                self.each[kind, id] = tuple(self._read_needs(self.catalog.find_original(kind, id)))
            except UnknownPart:  # a line card, which is in the record of its switch
                self.each[kind, id] = ()
        return self.each[kind, id]

    def _read_needs(self, record: Record) -> Iterator[_Need]:
        requires, gpus = identity(record).requires, gpus_of(record) if record.kind == SERVER else 1
        stated = {need.parts for need in requires}
        for need in requires:
            units = {PIECE: 1, GPU: gpus}.get(need.per)
            pieces = Fraction(need.quantity.value) * units if need.quantity and units else None
            fixed = len(need.parts) == 1 and need.per == PIECE and pieces is not None
            if not need.included:
                yield _Need(need.parts, pieces, fixed, need.included is False)
        if record.kind == SERVER and record.value("gpu") and record.value("gpus_included") is not False:
            for own in self._needs_of(GPU, str(record.value("gpu"))):
                if own.parts not in stated:
                    yield own._replace(pieces=None if own.pieces is None else own.pieces * gpus)


def _odd(lines: Sequence[SentLine], wanted: Mapping[str, int]) -> tuple[SentLine | None, str]:
    """Return the line whose pieces match no requiring part, else the first, and the requiring part without a match."""
    left = dict(wanted)
    odd = list[SentLine]()
    for line in lines:
        match = next((id for id, pieces in left.items() if pieces == line.quantity), None)
        if match is None:
            odd.append(line)
        else:
            del left[match]
    return next(iter((*odd, *lines)), None), next(iter(left), "")
