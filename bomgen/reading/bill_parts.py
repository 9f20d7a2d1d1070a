"""What the parts of a bill say by themselves: unknown numbers, texts that contradict a part, ends of sale."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from fractions import Fraction

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog, Record
from bomgen.catalog.identity import identity, unavailable_message
from bomgen.catalog.parts import AVAILABLE, GENERIC, NOT_YET_SOLD, Identity
from bomgen.reading.bills import SentBill, SentLine
from bomgen.reading.findings import GENERAL, PINPOINTED, Finding, at_line
from bomgen.reading.part_numbers import PART_NUMBER, kinds

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
    """What is to be said of each line by itself."""
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
            yield _unavailable(line, called, named.kind)


def _unavailable(line: SentLine, called: Identity, kind: str) -> Finding:
    """That a part is not sold any more; or not yet, of which nobody knows when the bill is to be ordered."""
    text = unavailable_message(called, kind, line.shown)
    if called.availability in NOT_YET_SOLD:
        return at_line("unknown", line, "not-yet-sold", weight=GENERAL, text=text)
    return at_line("doubt", line, "end-of-sale", weight=GENERAL, text=text)


def _is_housing(line: SentLine) -> bool:
    """Whether a line is of racks or rack PDUs, which any vendor sells."""
    text = f"{line.part} {line.description}".lower()
    return any(word.search(text) for kind in ("rack", "pdu") for word in kinds()[kind])


def _unknown(line: SentLine) -> Finding:
    recognition = line.recognition
    if recognition.may_be:
        return at_line("unknown", line, "which-part", part=line.shown, parts=tuple(id for _, id in recognition.may_be))
    if recognition.nearest:
        return at_line("unknown", line, "unknown-near", part=line.shown, near=", ".join(recognition.nearest))
    return at_line("unknown", line, "unknown-part", part=line.shown)


def _unsold(line: SentLine, family: Record) -> Finding:
    """That a cable is not sold at the length that its number says."""
    unsold = line.recognition.unsold
    length = f"{float(unsold.length_m or 0):g}" if unsold else ""
    lengths = tuple(f"{float(each):g}" for each in family.value("lengths_m"))
    part = str(family.value(PART_NUMBER) or family.id)
    return at_line("doubt", line, "unsold", 0, PINPOINTED, part=part, length=length, lengths=lengths)


def _contradictions(line: SentLine, record: Record, catalog: Catalog) -> Iterator[Finding]:
    """What the description says and the part is not."""
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
                yield _contradicted(line, record, f"{float(metres):g} m", f"{float(reach):g} m")._replace(
                    severity="doubt"
                )
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
