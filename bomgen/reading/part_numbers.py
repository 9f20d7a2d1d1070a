"""Recognition of catalogue parts on bill lines: by part number, family and length, a known suffix, or words.

A number is recognised only if it equals a number of a part exactly: a typing error remains unknown, and the closest
numbers are listed. Parts recognised by words alone are marked as uncertain.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from difflib import SequenceMatcher
from fractions import Fraction
from functools import cache, cached_property
from typing import Any, NamedTuple

from bomgen.catalog.files import ANY_LENGTH, CHASSIS, KINDS, NOT_PARTS, Catalog, Record, id_at_length
from bomgen.catalog.link_words import TRANSCEIVER, LinkWords, read_link_words
from bomgen.catalog.parts import GENERIC
from bomgen.core.diagnostics import nearest
from bomgen.core.document import group_by
from bomgen.core.messages import Message, message
from bomgen.core.yaml_source import read_data
from bomgen.reading.part_words import (
    GPU,
    GPU_COUNT,
    LEAST_NAME,
    MARKS,
    SERVER,
    PartWords,
    fitting_records,
    gpus_of,
    has_words,
    is_for,
    split_words,
)

SUFFIXES, WORDS = "part-suffixes.yaml", "bill-words.yaml"
SHOWN_NEAREST = 3
SHOWN_WORDS = 80
"""Characters of a line in a reason."""
PART_NUMBER = "part_number"
MAX_CLOSE = 300
"""Number of different bill lines for which similar numbers are searched, some milliseconds each."""
CARDS_OF_CHASSIS = ("line_card", "fabric_cards", "supervisors", "power_supplies")
"""Keys of a chassis whose cards have numbers."""
CODE = 3
"""Characters of a length in a cable part number."""
_HALF = "a"
_TOKEN = re.compile(r"[^\s,;()\[\]\"'“”（），；、:：]+")
_LISTED = re.compile(r"^(.*?)(\w(?:/\w)+)(-.*)$")
_ENDING = re.compile(r"[-/#+=.]")
"""What an ending of a part number starts with."""
_MODEL = re.compile(r"[a-z]\d|\d[a-z]", re.IGNORECASE)
_SPACED = re.compile(r"\s*-\s*")
"""A hyphen with spaces beside it, as in Supermicro's `AS -8126GS-TNMR`."""
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-"))
_RATE = re.compile(r"\b(?:([248])\s*[x×]\s*)?(100|200|400|800|1600)\s*g(?:b[/p]?s|bps|be|base)?\b")
_PORTS = re.compile(r"\b(?:(single|dual|1|2)[- ]port\b|([124])\s*[x×])")
_COUNTS = {"single": 1, "dual": 2}
_HOST = re.compile(r"\bfor\b[^;,]*")
"""What a part is for: `optics for the switches`."""
_DOMAIN = re.compile(r"\bnvl(\d+)\b")
"""GPUs of an NVLink domain, as in `NVL72`."""


class Named(NamedTuple):
    """A recognised part."""

    kind: str
    id: str
    """Catalogue id; for a cable family its id."""
    length_m: Fraction | None
    certain: bool
    """Whether a number or name identifies it; otherwise it is inferred from words."""
    reason: Message

    @property
    def part(self) -> str:
        """Return the id at its length, as bills write it."""
        return self.id if self.length_m is None else id_at_length(self.id, self.length_m)


class Recognition(NamedTuple):
    """The part recognised on a line, and alternatives."""

    named: Named | None
    others: tuple[Named, ...] = ()
    """Other parts whose numbers are on the line."""
    nearest: tuple[str, ...] = ()
    """Known numbers similar to an unknown one; if words identify a part, the part's own numbers."""
    may_be: tuple[tuple[str, str], ...] = ()
    """Kinds and ids of parts among which the line is ambiguous."""
    unsold: Named | None = None
    """The cable of a family that the number denotes at a length that is not sold."""
    closest: Named | None = None
    """The part with the most similar number, used if a design needs it."""
    words: LinkWords = LinkWords()
    """What the text says of a module or cable that no number identifies."""
    alike: tuple[tuple[str, str], ...] = ()
    """Kinds and ids of the parts that the same words describe, where no number tells them apart."""

    @property
    def guess(self) -> Recognition | None:
        """Return the recognition as the likely intended part; None without one."""
        if self.named is None and (likely := self.unsold or self.closest):
            return self._replace(named=likely)
        return None


class LookedUp(NamedTuple):
    """The parts that a number may denote."""

    parts: tuple[tuple[str, str], ...]
    """Kinds and ids, of a cable family at the length of the number."""
    number: str
    """What was recognised of the text: all of it, or a number within it."""
    contradicting: tuple[tuple[str, str], ...] = ()
    """Without parts, those that a word of the text contradicts."""


_Names = dict[str, dict[tuple[str, str], Fraction | None]]


class PartIndex:
    """The parts of a catalogue by number and name; an id or number takes precedence over aliases of other parts."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self.spent = False
        """Whether the search for similar numbers has reached its limit."""
        self.recognised: dict[tuple[str, str], Recognition] = {}
        self.described: dict[tuple[str, str, LinkWords], tuple[tuple[str, str], ...]] = {}
        """Other parts that a part and words may stand for."""
        self.families: list[Record] = []
        """Cables whose numbers contain their length."""
        patterns: list[str] = []
        self.flat: dict[str, tuple[Record, Fraction | None]] = {}
        """Cables and lengths by the number of their version with a flat top, which fits other cages."""
        exact, by_alias = _Names(), _Names()
        for record in self._parts():
            aliases = {str(alias).lower() for alias in record.data.get("aliases", ())}
            lengths = record.lengths
            self.flat |= {number: (record, length) for number, length in record.flat_lengths.items()}
            for name in record.names:
                for spelling in _listed(name):
                    is_exact = name not in aliases or name == str(record.value(PART_NUMBER)).lower()
                    named = exact if is_exact else by_alias
                    named.setdefault(spelling, {})[record.kind, record.id] = lengths.get(name)
            families = [record.id, *(name for name in aliases if ANY_LENGTH in name)] if record.kind == "cable" else ()
            for family in families:
                if family.count(ANY_LENGTH) == 1 and "xxxx" not in family:
                    before, after = map(re.escape, family.split(ANY_LENGTH))
                    self.families.append(record)
                    patterns.append(rf"{before}(\d{{2}}[0-9a]|\d{{2}}){after}")
        self.of_family = re.compile("|".join(patterns))
        """Pattern for a number of a cable family; the group of the family has its length."""
        self.aliases = by_alias.keys() - exact.keys()
        """Lower-case names other than numbers and ids."""
        self.names: _Names = by_alias | exact
        """Kinds and ids of parts by lower-case name, each with the length that the name states."""

    def _parts(self) -> Iterator[Record]:
        return (record for kind in KINDS if kind not in NOT_PARTS for record in self.catalog.all(kind))

    @cached_property
    def words(self) -> PartWords:
        """Return the names of parts by their words."""
        return PartWords(self.catalog, self.names)

    @cached_property
    def servers_of(self) -> Mapping[str, list[Record]]:
        """Return the servers of each GPU."""
        return group_by(self.catalog.all(SERVER), lambda server: str(server.value(GPU)))

    def ids(self, name: str) -> tuple[str, ...]:
        """Return the ids of the parts with a name, cables at the stated length; several if it is ambiguous.

        Spaces in a name may stand for hyphens or for nothing, as in `DGX H200` and `QM 9700`.
        """
        words = name.lower().split()
        wanted = " ".join(words)
        if fits := self.names.get(wanted) or self.names.get("-".join(words)) or self.names.get("".join(words)):
            return tuple(sorted(id if length is None else id_at_length(id, length) for (_, id), length in fits.items()))
        cable = self._of_family(wanted, "")
        return (cable.part,) if cable else ()

    def count(self, names: Iterable[str]) -> int:
        """Return how many of some names are names of parts."""
        return sum(bool(self.ids(name)) for name in names)

    def find(self, text: str, line: str = "") -> Named | None:
        """Return the part for a number or name that is the whole text; `line` is all other text next to it."""
        return self._exact(text, line) or self._of_family(text, line) or self._suffixed(text, line)

    def look_up(self, text: str) -> LookedUp:
        """Return every part that a number or name may denote, also with a vendor's name before or an ending behind it.

        Unlike `find`, which identifies a part on a bill, it ignores endings that nobody described.
        """
        whole = _SPACED.sub("-", _plain(text))
        words = dict.fromkeys((whole, *_tokens(whole)))
        numbers = [word for word in words if word == whole or _is_number(word)]
        starts = {start: rest for word in numbers for start, rest in _beginnings(word) if _is_number(start)}
        # Letters with digits tell models of a family apart, such as `-H1`, except behind a `+`, which adds to the part.
        plain = [start for start, rest in starts.items() if rest[0] == "+" or not _MODEL.search(rest)]
        contradicting = dict[tuple[str, str], None]()
        for looked, words_of_kind in (
            (self._exactly, numbers),
            (self._all_of, numbers),
            (self._exactly, plain),
            (self._of_attributes, [whole]),
            (self._all_of, plain),
            (self._within, numbers),
            (self._all_of, words),
        ):
            for word in words_of_kind:
                parts = looked(word)
                if fits := tuple(part for part in parts if not self.contradicts(*part, text)):
                    return LookedUp(fits, word)
                contradicting.update(dict.fromkeys(parts))
        return LookedUp((), text, tuple(contradicting))

    def contradicts(self, kind: str, id: str, text: str) -> bool:
        """Return whether a text names another edition, memory or NVLink domain than a part has, such as Max-Q."""
        text, record = text.lower(), self.catalog.find_original(kind, id)
        servers = [record] if kind == SERVER else self.servers_of.get(id, []) if kind == GPU else []
        names = " ".join(name for of in (record, *servers) for name in (*of.names, str(of.value("name")))).lower()
        names += "".join(f" nvl{gpus_of(server)}" for server in servers)
        if any(word.search(text) and not word.search(names) for word in words_of("editions")["edition"]):
            return True
        if kind not in (GPU, SERVER):
            return False
        domains = set(_DOMAIN.findall(text))
        return not domains <= set(_DOMAIN.findall(names)) or self.words.find_gpus(text).unknown

    def _exactly(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return kind and id of every part with a number: as it is, of a length, or with a known suffix."""
        if fits := self.names.get(word.lower()):
            return tuple((kind, id if not length else id_at_length(id, length)) for (kind, id), length in fits.items())
        if named := self._of_family(word, word) or self._suffixed(word, word):
            return ((named.kind, named.part),)
        family, _ = self._family_of(word)
        return (("cable", family.id),) if family else ()

    def _all_of(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return kind and id of every part with a number, or whose number begins with it."""
        if exact := self._exactly(word):
            return exact
        begun = tuple(f"{word.lower()}{sign}" for sign in "-+")
        fitting = [part for name, parts in self.names.items() if name.startswith(begun) for part in parts]
        return tuple(dict.fromkeys(fitting)) if _is_number(word) else ()

    def _of_attributes(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return kind and id of every module or cable that the words in a number describe, generic ones first."""
        return tuple((record.kind, record.id) for record in fitting_records(read_link_words(word), self.catalog))

    def _within(self, word: str) -> tuple[tuple[str, str], ...]:
        """Return kind and id of every chassis with a card of a number, and every cable with a flat version of it."""
        chassis = [record for record in self.catalog.all("switch") if record.value(CHASSIS)]
        held = [(record, record.value(CHASSIS, key, PART_NUMBER)) for record in chassis for key in CARDS_OF_CHASSIS]
        for record in self.catalog.all("cable"):
            held += [(record, number) for number in (record.value("flat_variants") or {}).values()]
        fitting = [(record.kind, record.id) for record, number in held if str(number).lower() == word.lower()]
        return tuple(dict.fromkeys(fitting))

    def alike(self, kind: str, id: str, words: LinkWords) -> tuple[tuple[str, str], ...]:
        """Return the other parts of the same name, and the modules and cables that have all that the words say."""
        if (kind, id, words) not in self.described:
            name = self.catalog.find_original(kind, id).data.get("name")
            records = (each for each in self.catalog.all(kind) if each.id != id)
            alike = (each for each in records if (name and each.data.get("name") == name) or has_words(each, words))
            self.described[kind, id, words] = tuple((each.kind, each.id) for each in alike)
        return self.described[kind, id, words]

    def find_unsold(self, text: str) -> Named | None:
        """Return the cable of a family at a length that is not sold."""
        record, code = self._family_of(text)
        length = _coded(code) if record else Fraction(0)
        return _at_length(text, record, length) if record and length and len(code) == CODE else None

    def _exact(self, text: str, line: str) -> Named | None:
        written = text.lower()
        fits = self.names.get(written, {})
        if len(fits) > 1:
            # A number in two records is one product: the one whose record has it as its own number.
            numbered = self.catalog.find_original
            fits = {part: length for part, length in fits.items() if numbered(*part).value(PART_NUMBER)}
        chassis = self.words.chassis.get(written, ())
        if chassis:  # sold with several GPUs: the line states which
            ids = self.words.with_gpus(sorted(chassis), self.words.find_gpus(line))
            fits = {(SERVER, id): None for id in ids}
        if len(fits) != 1:
            return None
        ((kind, id), length) = next(iter(fits.items()))
        record = self.catalog.find_original(kind, id)
        certain = record.id == written or record.data.get("vendor") != GENERIC
        lengths: list[Any] = record.value("lengths_m") or [] if kind == "cable" else []
        if ANY_LENGTH in id and length is None and len(lengths) == 1:
            length = Fraction(str(lengths[0]))
        said = message("xray-by-number", number=text) if certain else message("xray-by-words", words=text)
        if len(chassis) > 1:
            said = message("xray-by-gpus", number=text, gpu=str(record.value(GPU)))
        return Named(kind, id, length, certain, said)

    def _of_family(self, text: str, line: str) -> Named | None:
        record, code = self._family_of(text)
        if record is None:
            return None
        length, sold = _coded(code), record.value("lengths_m") or ()
        if sold and float(length) not in [float(metres) for metres in sold]:
            return None
        # Two digits are one short of a code; they count only if the line states the length.
        if len(code) < CODE and not re.search(rf"\b{float(length):g}\s*(m\b|米)", line.lower()):
            return None
        return _at_length(text, record, length)

    def _family_of(self, text: str) -> tuple[Record | None, str]:
        match = self.of_family.fullmatch(text.lower())
        if match is None or match.lastindex is None:
            return None, ""
        return self.families[match.lastindex - 1], match[match.lastindex]

    def _suffixed(self, text: str, line: str) -> Named | None:
        written = text.lower()
        for addition in read_data(SUFFIXES)["suffixes"]:
            pattern, begins = addition["pattern"], addition.get("for")
            match = re.search(pattern if pattern.startswith("^") else f"(?:{pattern})$", written)
            if match is None or match.span() == (0, len(written)) or (begins and not written.startswith(tuple(begins))):
                continue
            rest = text[: match.start()] + text[match.end() :]
            if named := self._exact(rest, line) or self._of_family(rest, line):
                meaning = message("xray-suffix", suffix=match[0].upper(), meaning=str(addition["meaning"]))
                reason = message("xray-by-suffix", number=rest, suffix=meaning)
                is_said = all(word in line.lower() for word in addition.get("words", ()))
                return named._replace(reason=reason, certain=named.certain and is_said)
        return None

    def recognize(self, part: str, text: str) -> Recognition:
        """Return the recognition of a line, each text once; similar numbers for the first `MAX_CLOSE` texts only."""
        if (part, text) not in self.recognised:
            self.spent = len(self.recognised) >= MAX_CLOSE
            self.recognised[part, text] = recognize(part, text, self)
        return self.recognised[part, text]

    def nearest(self, text: str) -> tuple[str, ...]:
        """Return the known numbers most similar to one."""
        return () if self.spent else tuple(nearest(text.strip().lower(), self.names, SHOWN_NEAREST))


@cache
def built_in_parts() -> PartIndex:
    """Return the parts of the built-in catalogue, cached."""
    return PartIndex(Catalog())


def recognize(part: str, text: str, index: PartIndex) -> Recognition:
    """Return the recognition of a line from the text of its part number column and its whole description."""
    part, text = _plain(part), _plain(text)
    recognition = _recognize(part, text, index)
    named = recognition.named
    if named and named.kind in (GPU, SERVER) and index.contradicts(named.kind, named.id, f"{part} {text}"):
        return Recognition(None, nearest=(named.id,))
    return recognition


def _recognize(part: str, text: str, index: PartIndex) -> Recognition:
    line = f"{part} {text}"
    candidates = list(_of_cell(part, line, index))
    if not candidates:
        candidates = [candidate for candidate in _in_sentence(line, line, index) if _is_kind(candidate.kind, text)]
    distinct = {(candidate.kind, candidate.id, candidate.length_m): candidate for candidate in candidates}
    # A family without a length is the same part as one of its lengths.
    for key in [key for key in distinct if key[2] is None and any(o[1] == key[1] and o[2] for o in distinct)]:
        del distinct[key]
    if distinct:
        first, *further = distinct.values()
        if first.kind == SERVER:
            # Other parts in the description of a server are inside it, except GPUs that it does not have.
            further = [candidate for candidate in further if candidate.kind == SERVER]
            gpus = index.words.find_gpus(line)
            if not index.words.with_gpus([first.id], gpus):
                further += [first._replace(kind=GPU, id=id) for id in sorted(gpus.ids)]
        near = _mistyped(part, first, index) if first.reason.code == "xray-in-text" else ()
        return Recognition(first, tuple(further), near)
    return _by_words(part, text, index)


def _mistyped(part: str, named: Named, index: PartIndex) -> tuple[str, ...]:
    """Return the numbers of a part similar to the text in the part number column, if that is none of them."""
    if not _is_number(part) or " " in part:
        return ()
    near = [name for name in index.nearest(part) if (named.kind, named.id) in index.names[name]]
    # Additions of a reseller to a number are not typing errors.
    if any(part.lower().startswith(name) for name in near):
        return ()
    return tuple(name for name in near if _is_slip(part.lower(), name))


def _of_cell(part: str, line: str, index: PartIndex) -> Iterator[Named]:
    if whole := index.find(part, line):
        yield whole
        return
    for token in _tokens(part):
        named = index.find(token, line)
        if named and named.certain and (_is_number(token) or len(list(_tokens(part))) == 1):
            yield named


def _in_sentence(text: str, line: str, index: PartIndex) -> Iterator[Named]:
    """Yield the parts whose numbers are in a text, except parts that it only names as a host."""
    tokens = list(_tokens(text))
    words = [token.lower() for token in tokens]
    title = next(index.words.find_titles(text), None)
    named = [word for word in words if title and word not in split_words(title[1])]
    """Words of the longest name in the text, of which an alias is only a part."""
    for at, token in enumerate(tokens):
        inside = len(named) > 1 and words[at] in named and words[at] in index.aliases
        if not _is_number(token) or is_for(words, at) or inside:
            continue
        if (part := index.find(token, line)) and part.certain and part.kind != GPU:
            yield part._replace(reason=message("xray-in-text", reason=part.reason))


def _by_words(part: str, text: str, index: PartIndex) -> Recognition:
    whole = f"{part} ; {text}".lower()
    gpus, words = index.words.find_gpus(whole), read_link_words(f"{part} ; {text}")
    if part.lower() in index.flat:
        record, length = index.flat[part.lower()]
        said = message("xray-by-flat-top", number=part, part=record.id)
        with_flat_top = Named(record.kind, record.id, length, False, said)
        return Recognition(None, nearest=(record.id,), closest=with_flat_top, words=words)
    chassis = index.words.find_chassis(whole) if _is_kind(SERVER, text) else []
    if chassis:
        meant = [(SERVER, id) for id in index.words.with_gpus(chassis, gpus)]
        meant = meant or index.words.find_generic_server(gpus)
        if not meant:
            return Recognition(None, nearest=tuple(chassis))
    else:
        meant = _of_link(words, _called(whole, index), index)
        if not meant and (SERVER in _kinds_said(text) or GPU_COUNT.search(whole)):
            meant = index.words.find_generic_server(gpus)
    unsold = next((number for token in _tokens(f"{part} {text}") if (number := index.find_unsold(token))), None)
    if len(meant) == 1:
        ((kind, id),) = meant
        length = words.length_m if kind == "cable" else None
        said = message("xray-by-words", words=max((*text.split(" ; "), part), key=len)[:SHOWN_WORDS])
        named = Named(kind, id, length, False, said)
        near, alike = () if unsold else _mistyped(part, named, index), index.alike(kind, id, words)
        return Recognition(named, nearest=near, unsold=unsold, words=words, alike=alike)
    near = () if unsold or meant or not part or " " in part else index.nearest(part)
    slip = next((name for name in near if _is_slip(part.strip().lower(), name)), "")
    closest = index.find(slip, whole) if slip else None
    if closest:
        said = message("xray-by-nearest", number=slip)
        closest = closest._replace(certain=False, reason=said) if _is_kind(closest.kind, text) else None
    return Recognition(None, nearest=near, may_be=tuple(meant), unsold=unsold, closest=closest, words=words)


def _of_link(words: LinkWords, called: list[tuple[str, str]], index: PartIndex) -> list[tuple[str, str]]:
    """Return the parts that a text calls by name, or those that fit its words if these contradict the name."""
    named = [part for part in called if not (part[0] == TRANSCEIVER and _contradict(words, part, index))]
    if len(named) == 1 or not words.kind:
        return named
    fits = [(record.kind, record.id) for record in fitting_records(words, index.catalog)]
    return named if named and len(fits) != 1 else fits or called


def _contradict(words: LinkWords, part: tuple[str, str], index: PartIndex) -> bool:
    record = index.catalog.find_original(*part)
    return bool(words.optic and words.gbps and record.value("rate_gbps")) and not has_words(record, words)


def _is_slip(written: str, number: str) -> bool:
    """Return whether two numbers differ by one character, or by two adjacent swapped characters."""
    matcher = SequenceMatcher(None, written, number, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    if not changes:
        return True
    (_, start, _, other_start, _), (_, _, end, _, other_end) = changes[0], changes[-1]
    one, expected = written[start:end], number[other_start:other_end]
    return max(len(one), len(expected)) <= 1 or (len(one) == 2 and one == expected[::-1])


def _called(whole: str, index: PartIndex) -> list[tuple[str, str]]:
    several: list[tuple[str, str]] = []
    for parts, rest in index.words.find_titles(whole):
        fits = [part for part in parts if _is_kind(part[0], rest)]
        if len(meant := _narrowed(fits, whole, index)) == 1:
            return meant
        several = several or fits
    return several


def _narrowed(fits: list[tuple[str, str]], text: str, index: PartIndex) -> list[tuple[str, str]]:
    """Return the parts with the same name, limited to those whose ports and rate are in the text."""
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
    return kept if len(kept) == 1 else fits


def _is_kind(kind: str, text: str) -> bool:
    """Return whether the words of a text permit a kind of part; a server with GPUs is not a GPU."""
    said = _kinds_said(text)
    if kind == GPU:
        return SERVER not in said and not GPU_COUNT.search(text.lower())
    return not said or kind in said or kind not in words_of("kinds")


def _kinds_said(text: str) -> set[str]:
    text = _HOST.sub(" ", text.lower())
    for word in (word for group in ("links", "ends") for patterns in words_of(group).values() for word in patterns):
        text = word.sub(" ", text)  # a text about connected parts does not identify the part
    return {name for name, words in words_of("kinds").items() if any(word.search(text) for word in words)}


def _is_number(token: str) -> bool:
    """Return whether a word looks like a part number: letters and digits, and long enough."""
    return len(token) > LEAST_NAME and any(s.isdigit() for s in token) and any(s.isalpha() for s in token)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).translate(_DASHES).split())


def _tokens(text: str) -> Iterator[str]:
    return filter(None, (word.strip(MARKS) for word in _TOKEN.findall(text)))


def _beginnings(word: str) -> Iterator[tuple[str, str]]:
    """Yield a number without its last ending, then without its last two, and so on: `a-b`, then `a` for `a-b/c`."""
    ends = [match.start() for match in _ENDING.finditer(word)]
    yield from ((word[:end], word[end:]) for end in reversed(ends) if end)


def _listed(name: str) -> Iterable[str]:
    """Return the numbers that one entry represents: three for `a1/2/4-x`."""
    match = _LISTED.match(name)
    if match is None or " " in name:
        return (name,)
    before, signs, after = match.groups()
    return (*(f"{before}{sign}{after}" for sign in signs.split("/")), name)


def _at_length(text: str, record: Record, length: Fraction) -> Named:
    said = message("xray-by-length", number=text, part=record.id, length=f"{float(length):g} m")
    return Named("cable", record.id, length, True, said)


def _coded(code: str) -> Fraction:
    """Return the length [m] of a code: 30 for `030`, 1.5 for `01a`."""
    return Fraction(code) if code.isdecimal() else Fraction(code.removesuffix(_HALF)) + Fraction(1, 2)


@cache
def words_of(group: str) -> Mapping[str, tuple[re.Pattern[str], ...]]:
    """Return the patterns of a group of `bill-words.yaml` by meaning, for lower-case text."""
    return {name: tuple(re.compile(word) for word in words) for name, words in read_data(WORDS)[group].items()}
