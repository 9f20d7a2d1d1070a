"""Which part of the catalogue a line names: by its numbers, its family and length, a known suffix, or its words.

A number is taken for a part only when it is one of its numbers, letter for letter: a slip of the pen stays unknown, and
the nearest numbers are listed. What is recognised by words alone is marked as taken for the part.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from functools import cache
from typing import Any, NamedTuple

from bomgen.catalog.files import ANY_LENGTH, KINDS, NOT_PARTS, Catalog, Record, id_at_length
from bomgen.catalog.parts import GENERIC
from bomgen.core.diagnostics import nearest
from bomgen.core.messages import Message, message
from bomgen.core.resources import folder
from bomgen.core.yaml_source import own

SUFFIXES, WORDS = "part-suffixes.yaml", "bill-words.yaml"
LEAST_NAME = 5
"""Characters of a name, with a digit, that is looked for within a sentence."""
LONGEST_PHRASE = 4
"""Words of a name that is written in several, such as `DGX H100`."""
SHOWN_NEAREST = 3
SHOWN_WORDS = 80
"""Characters of a line that a reason repeats."""
PART_NUMBER = "part_number"
_HALF = "a"
_TOKEN = re.compile(r"[^\s,;()\[\]\"'“”（），；、:：]+")
_LISTED = re.compile(r"^(.*?)(\w(?:/\w)+)(-.*)$")
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_LENGTH_BEHIND = re.compile(r"[,，]?\s*\d+(?:\.\d+)?\s*(?:m|米)$")
_RATE = re.compile(r"\b(?:([248])\s*[x×]\s*)?(100|200|400|800|1600)\s*g(?:b[/p]?s|bps|be|base)?\b")
_OPTIC = re.compile(r"\b(?:([248])\s*[x×]\s*)?((?:[sdflvx]r|xdr|plr)[48])\b")
_PORTS = re.compile(r"\b(?:(single|dual|1|2)[- ]port\b|([124])\s*[x×])")
_COUNTS = {"single": 1, "dual": 2}
_SPLIT = re.compile(r"\bto\s+[248]\s*[x×]|split|breakout|分支")


class Named(NamedTuple):
    """A part that a line names."""

    kind: str
    id: str
    """Catalogue id; of a cable family that of the family."""
    length_m: Fraction | None
    certain: bool
    """Whether a number or the name says so; else the line is taken for it by its words."""
    reason: Message

    @property
    def part(self) -> str:
        """The id at its length, as bills write it."""
        return self.id if self.length_m is None else id_at_length(self.id, self.length_m)


class Recognition(NamedTuple):
    """What a line names, and what else could be meant."""

    named: Named | None
    others: tuple[Named, ...] = ()
    """Other parts whose numbers stand on the line, too."""
    nearest: tuple[str, ...] = ()
    """Numbers that come close to one that nobody knows."""


_Names = dict[str, dict[tuple[str, str], Fraction | None]]


class PartIndex:
    """The parts of a catalogue by every number and name.

    A name that is the id or a number of a part is that part's, whatever part has it as an alias.
    """

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.families: list[Record] = []
        """Cables whose numbers have their length in them."""
        patterns: list[str] = []
        self.titles: dict[str, set[tuple[str, str]]] = {}
        """The kinds and ids of parts by what the catalogue calls them."""
        exact, others = _Names(), _Names()
        for record in (record for kind in KINDS if kind not in NOT_PARTS for record in catalog.all(kind)):
            aliases = {str(alias).lower() for alias in record.data.get("aliases", ())}
            lengths = {
                str(number).lower(): _length(key) for key, number in (record.value("ordering_numbers") or {}).items()
            }
            for name in record.names:
                for each in _listed(name):
                    named = others if name in aliases else exact
                    named.setdefault(each, {})[record.kind, record.id] = lengths.get(name)
            self.titles.setdefault(str(record.data.get("name", "")).lower(), set()).add((record.kind, record.id))
            if record.kind == "cable" and record.id.count(ANY_LENGTH) == 1 and "xxxx" not in record.id:
                before, after = map(re.escape, record.id.split(ANY_LENGTH))
                self.families.append(record)
                patterns.append(rf"{before}(\d{{2}}[0-9a]|\d{{2}}){after}")
        self.of_family = re.compile("|".join(patterns))
        """A number of a cable of a family: the group of the family has its length."""
        self.names: _Names = others | exact
        """The kinds and ids of parts by a name in lower case, each with the length that the name says."""

    def ids(self, name: str) -> tuple[str, ...]:
        """The ids of the parts that a name is of, cables at the length that it says; several: it is not exact."""
        wanted = name.strip().lower()
        if fits := self.names.get(wanted):
            return tuple(sorted(id if length is None else id_at_length(id, length) for (_, id), length in fits.items()))
        found = self._of_family(name, wanted, "")
        return (found.part,) if found else ()

    def count(self, names: Iterable[str]) -> int:
        """How many of some names are those of parts."""
        return sum(bool(self.ids(name)) for name in names)

    def find(self, text: str, line: str = "") -> Named | None:
        """The part of a number or a name, which is the whole text; `line` is all that stands beside it."""
        written = text.lower()
        return self._exact(text, written) or self._of_family(text, written, line) or self._suffixed(text, written, line)

    def kinds_of(self, text: str) -> list[tuple[str, str]]:
        """The kinds and ids of all parts that a name may mean."""
        return sorted(self.names.get(text.lower(), {}))

    def _exact(self, text: str, written: str) -> Named | None:
        fits = self.names.get(written, {})
        if len(fits) > 1:
            # One number of two records is one product: that whose record gives it as a number of its own.
            fits = {
                each: length for each, length in fits.items() if self.catalog.find_original(*each).value(PART_NUMBER)
            }
        if len(fits) != 1:
            return None
        ((kind, id), length) = next(iter(fits.items()))
        record = self.catalog.find_original(kind, id)
        certain = record.id == written or record.data.get("vendor") != GENERIC
        if kind == "cable" and ANY_LENGTH in id and length is None:
            length = _only_length(record)
        code = "xray-by-number" if certain else "xray-by-words"
        return Named(kind, id, length, certain, message(code, number=text, part=record.id))

    def _of_family(self, text: str, written: str, line: str) -> Named | None:
        match = self.of_family.fullmatch(written)
        if match is None or match.lastindex is None:
            return None
        record, code = self.families[match.lastindex - 1], match[match.lastindex]
        length = _coded(code)
        sold = record.value("lengths_m") or ()
        if sold and float(length) not in [float(each) for each in sold]:
            return None
        # Two digits are one short of a code: only a line that says the length makes them one.
        if len(code) == 2 and not re.search(rf"\b{float(length):g}\s*(m\b|米)", line.lower()):
            return None
        reason = message("xray-by-length", number=text, part=record.id, length=f"{float(length):g} m")
        return Named("cable", record.id, length, True, reason)

    def _suffixed(self, text: str, written: str, line: str) -> Named | None:
        for suffix in known_suffixes():
            match = re.search(f"(?:{suffix['pattern']})$", written)
            begins = suffix.get("for")
            if match is None or not match.start() or (begins and not written.startswith(tuple(begins))):
                continue
            if suffix.get("words") and not any(word in line.lower() for word in suffix["words"]):
                continue
            rest = text[: match.start()]
            found = self._exact(rest, rest.lower()) or self._of_family(rest, rest.lower(), line)
            if found and found.certain:
                meaning = message("xray-suffix", suffix=text[match.start() :], meaning=str(suffix["meaning"]))
                reason = message("xray-by-suffix", number=rest, suffix=meaning)
                return found._replace(reason=reason)
        return None

    def nearest(self, text: str) -> tuple[str, ...]:
        """The known numbers that come closest to one."""
        return tuple(nearest(text.strip().lower(), self.names, SHOWN_NEAREST))


@cache
def built_in_parts() -> PartIndex:
    """The parts of the catalogue that comes with bomgen, which does not change while it runs."""
    return PartIndex(Catalog())


def recognize(part: str, text: str, index: PartIndex) -> Recognition:
    """What a line names: `part` is what stands where its number belongs, `text` everything that describes it."""
    part, text = _plain(part), _plain(text)
    line = f"{part} {text}"
    found = list(_of_cell(part, line, index))
    if not found:
        found = [each for each in _in_sentence(line, line, index) if _is_of_kind(each, text)]
    distinct = {(each.kind, each.id, each.length_m): each for each in found}
    # A family without a length is the same part as one of its lengths.
    for key in [key for key in distinct if key[2] is None and any(o[1] == key[1] and o[2] for o in distinct)]:
        del distinct[key]
    if distinct:
        first, *others = distinct.values()
        return Recognition(first, tuple(others))
    if meant := _by_words(part, text, index):
        return Recognition(meant)
    return Recognition(None, nearest=index.nearest(part) if part else ())


def _of_cell(part: str, line: str, index: PartIndex) -> Iterator[Named]:
    """The parts of the cell that holds the number: the whole of it, or each number in it."""
    if whole := index.find(part, line):
        yield whole
        return
    for token in _tokens(part):
        found = index.find(token, line)
        if found and found.certain and (_is_number(token) or len(list(_tokens(part))) == 1):
            yield found


def _in_sentence(text: str, line: str, index: PartIndex) -> Iterator[Named]:
    """The parts whose numbers stand within a text."""
    for token in _tokens(text):
        if _is_number(token) and (found := index.find(token, line)) and found.certain:
            yield found._replace(reason=message("xray-in-text", reason=found.reason))


def _by_words(part: str, text: str, index: PartIndex) -> Named | None:
    """The part that a line is taken for by its words; None where they fit none, or several."""
    whole = f"{part} {text}".lower()
    words = [token.lower() for token in _tokens(f"{part} ; {text}")]
    title = _LENGTH_BEHIND.sub("", text.partition(" ; ")[0].lower()).strip(" ;")
    meant = sorted({*index.titles.get(title, ()), *index.titles.get(title.partition(" ")[2], ())})
    for size in range(LONGEST_PHRASE, 0, -1):
        for at in range(len(words) - size + 1):
            phrase = "-".join(words[at : at + size])
            fits = [each for each in index.kinds_of(phrase) if _is_kind(each[0], text)]
            if any(sign.isdigit() for sign in phrase) and len(phrase) >= LEAST_NAME and fits:
                meant = meant or _narrowed(fits, whole, index)
    if len(meant) != 1:
        meant = list(_by_attributes(whole, index))
    if len(meant) != 1:
        return None
    ((kind, id),) = meant
    record = index.catalog.find_original(kind, id)
    length = _written_length(whole) if kind == "cable" else None
    return Named(kind, id, length, False, message("xray-by-words", number=(part or text)[:SHOWN_WORDS], part=record.id))


def _narrowed(fits: list[tuple[str, str]], text: str, index: PartIndex) -> list[tuple[str, str]]:
    """Of several parts of one name those whose ports and rate stand in the text, too."""
    if len(fits) == 1:
        return fits
    rate, ports = _RATE.search(text), _PORTS.search(text)
    count = None
    if ports:
        count = _COUNTS.get(ports.group(1) or "") or int(ports.group(1) or ports.group(2))
    kept = []
    for kind, id in fits:
        record = index.catalog.find_original(kind, id)
        if rate and record.value("port_gbps") not in (None, int(rate.group(2))):
            continue
        if count and record.value("ports") not in (None, count):
            continue
        kept.append((kind, id))
    return kept if len(kept) == 1 else []


def _by_attributes(text: str, index: PartIndex) -> Iterator[tuple[str, str]]:
    """The generic module or cable of a rate and an optic."""
    rate, optic = _RATE.search(text), _OPTIC.search(text)
    if not rate or _SPLIT.search(text):
        return
    gbps = int(rate.group(2)) * int(rate.group(1) or 1)
    if optic:
        many = f"{optic.group(1)}x" if optic.group(1) else ""
        yield from index.kinds_of(f"{gbps}g-{many}{optic.group(2)}")
        return
    for medium in ("dac", "aoc"):
        if re.search(rf"\b{medium}\b", text):
            yield from index.kinds_of(f"generic-{gbps}g-{medium}")


def _written_length(text: str) -> Fraction | None:
    found = re.search(r"\b(\d+(?:\.\d+)?)\s*(?:m\b|米)", text)
    return Fraction(found.group(1)) if found else None


def _is_of_kind(named: Named, text: str) -> bool:
    return _is_kind(named.kind, text)


def _is_kind(kind: str, text: str) -> bool:
    """Whether the words of a text allow a kind of part: a server with its cards is no card."""
    said = {name for name, words in kinds().items() if any(word.search(text.lower()) for word in words)}
    return not said or kind in said or kind not in kinds()


def _is_number(token: str) -> bool:
    """Whether a word looks like a number of a part: letters and digits together, and long enough."""
    return len(token) > LEAST_NAME and any(s.isdigit() for s in token) and any(s.isalpha() for s in token)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_DASHES).split())


def _tokens(text: str) -> Iterator[str]:
    for word in _TOKEN.findall(text):
        trimmed = word.strip(".·*/|+")
        if trimmed:
            yield trimmed


def _listed(name: str) -> Iterable[str]:
    """The numbers that one entry stands for: `a1/2/4-x` is three."""
    match = _LISTED.match(name)
    if match is None or " " in name:
        return (name,)
    before, signs, after = match.groups()
    return (*(f"{before}{sign}{after}" for sign in signs.split("/")), name)


def _length(key: Any) -> Fraction | None:
    """The length that an ordering number is listed under; None for a key that is none."""
    try:
        return Fraction(str(key))
    except ValueError:
        return None


def _only_length(record: Record) -> Fraction | None:
    lengths: list[Any] = record.value("lengths_m") or []
    return Fraction(str(lengths[0])) if len(lengths) == 1 else None


def _coded(code: str) -> Fraction:
    """The length [m] of a code: `030` is 30, `01a` is 1.5."""
    return Fraction(code) if code.isdecimal() else Fraction(code.removesuffix(_HALF)) + Fraction(1, 2)


@cache
def known_suffixes() -> tuple[Mapping[str, Any], ...]:
    """What may follow a part number without making it another part, as the data file has it."""
    return tuple(own(folder("data") / SUFFIXES, SUFFIXES).data["suffixes"])


@cache
def kinds() -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """The words that say which kind of part a line is."""
    return words_of("kinds")


@cache
def words_of(group: str) -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """The words of a group of `bill-words.yaml` by what they say, as patterns for lower case."""
    table = own(folder("data") / WORDS, WORDS).data[group]
    return {name: tuple(re.compile(word) for word in words) for name, words in table.items()}
