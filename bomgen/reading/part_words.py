"""Recognition of parts by the words of a line: catalogue names in any language, and a chassis with its GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from bomgen.catalog.files import KINDS, NOT_PARTS, Catalog, Record
from bomgen.catalog.link_words import FIBRE, TRANSCEIVER, LinkWords
from bomgen.catalog.parts import ANY, GENERIC
from bomgen.core.messages import read_language
from bomgen.core.resources import languages

SERVER, GPU = "server", "gpu"
LEAST_NAME = 5
"""Minimum length of a name, with a digit, that is searched in a sentence."""
MARKS = ".·*/|+"
"""Characters that are removed from the ends of words."""
LONGEST_NAME = 4
"""Maximum number of words of a name, such as `DGX H100`."""
BEHIND_FOR = 2
"""Words after `for` that name the host of a part, such as `for NVIDIA DGX`."""
_TOKEN = re.compile(r"[^\s,;()\[\]\"'“”（），；、:：]+")
_IDEOGRAPH = re.compile("([\u3400-\u9fff])")
_BETWEEN_IDEOGRAPHS = re.compile("(?<=[\u3400-\u9fff]) (?=[\u3400-\u9fff])")
_TIMES = re.compile(r"\b(\d{1,2})\s*[x×*]\s*(?=[a-z])")
_TIMES_BEHIND = re.compile(r"\b([a-z]{1,3}\d{2,4})\s*[x×*]\s*(\d{1,2})\b")
GPU_COUNT = re.compile(r"(?<![\w.])(\d{1,2})(?:[- ]?gpus?\b|[- ]way\b|\s*卡)|([四八])卡")
"""The GPUs that a server has, as in `8-GPU`, `8-way` and `八卡`."""
_NUMERALS = {"四": 4, "八": 8}
_SIZES = re.compile(r"\d+(?:\.\d+)?")
_MEMORIES = re.compile(rf"memory {_SIZES.pattern}(?: / {_SIZES.pattern})*")
"""What a note about memory begins with: the sizes [GB] that documents give."""
_MEMORY = re.compile(r"\b(\d+)\s*gb\b")
_MEMORY_OF = re.compile(r"[\s(/-]*(?:(?:sxm\d?|pcie|nvl|oam|gpus?|tensor|core)\s+)*\(?(\d+)\s*gb?\b(?!/s|ps)")
"""The memory directly after the name of a GPU; sizes elsewhere may be of other parts of a server."""
_TIMES_MEMORY = (1, 4, 8)
"""GPUs whose memory a name may have: one, or a whole board as in `DGX A100 640GB`."""
_FORMS: Mapping[str, str] = {"sxm": "sxm", "hgx": "sxm", "pcie": "pcie", "nvl": "nvl"}
"""Words for GPU form factors, and the corresponding part of GPU ids."""
_USUAL_FORM = "sxm"
"""Form factor of GPUs in servers that do not state it."""
_FOR = (("for",), ("用", "于"))

Part = tuple[str, str]


class Gpus(NamedTuple):
    """The GPUs that a text names."""

    ids: frozenset[str]
    """Possible GPU ids; empty if it names none."""
    pieces: int | None
    unknown: bool = False
    """Whether the text names a GPU with a memory that no GPU of this name has."""


class PartWords:
    """Names of the parts of a catalogue, by their words."""

    def __init__(self, catalog: Catalog, names: Mapping[str, Mapping[Part, object]]) -> None:
        self.catalog = catalog
        self._names = names
        self._titles = dict[str, set[Part]]()
        """Parts by the words of their catalogue name, joined by hyphens."""
        self._longest = dict[str, int]()
        """Length in words of the longest name by its first word."""
        self._gpus = dict[str, set[str]]()
        self.chassis = dict[str, set[str]]()
        """Server ids by chassis name, which several servers may share."""
        self._generic = list[Record]()
        translations = [read_language(code).get("records", {}) for code in languages()]
        for record in (record for kind in KINDS if kind not in NOT_PARTS for record in catalog.all(kind)):
            title = str(record.data.get("name", ""))
            for catalog_name in (title, *(texts.get(f"{record.kind}/{record.id}", "") for texts in translations)):
                if words := split_words(catalog_name):
                    self._titles.setdefault("-".join(words), set()).add((record.kind, record.id))
                    self._longest[words[0]] = max(len(words), self._longest.get(words[0], 0))
            if record.kind == GPU:
                for name in (*record.names, "-".join(split_words(title))):
                    if not name.isdigit():
                        self._gpus.setdefault(name, set()).add(record.id)
            elif record.kind == SERVER and record.data.get("vendor") == GENERIC:
                self._generic.append(record)
            elif record.kind == SERVER and "," in title:
                words = split_words(title.partition(",")[0])
                at = next((at for at, word in enumerate(words) if any(s.isdigit() for s in word)), len(words))
                if words[at:]:
                    self.chassis.setdefault("-".join(words[at:]), set()).add(record.id)

    def find_titles(self, text: str) -> Iterator[tuple[list[Part], str]]:
        """Yield the parts of each name in a text, the longest names first, and the text without the name."""
        spaced = _space_ideographs(text)
        spans = [match.span() for match in _TOKEN.finditer(spaced) if match.group().strip(MARKS)]
        words = split_words(text)
        matches = list[tuple[int, int, list[Part]]]()
        for at, word in enumerate(words):
            if is_for(words, at):
                continue
            for size in range(min(max(LONGEST_NAME, self._longest.get(word, 0)), len(words) - at), 0, -1):
                phrase = "-".join(words[at : at + size])
                # A name without a digit consists of ordinary words: it denotes a part only as the whole text.
                if len(phrase) < LEAST_NAME or not (any(s.isdigit() for s in phrase) or size >= len(words) - 1):
                    continue
                if fits := self._titles.get(phrase) or self._names.get(phrase):
                    matches.append((-size, at, sorted(fits)))
                    break
        for size, at, parts in sorted(matches):
            rest = spaced[: spans[at][0]] + spaced[spans[at - size - 1][1] :]
            yield self._without_twins(parts), _BETWEEN_IDEOGRAPHS.sub("", rest)

    def _without_twins(self, parts: list[Part]) -> list[Part]:
        """Return the generic part if a vendor part has the same name, because a bill would have the vendor's number."""
        generic = [part for part in parts if self.catalog.find_original(*part).data.get("vendor") == GENERIC]
        return generic if len(generic) == 1 else parts

    def find_chassis(self, text: str) -> list[str]:
        """Return the ids of the servers whose chassis a text names."""
        words = split_words(text)
        for size in range(LONGEST_NAME, 0, -1):
            for at in range(len(words) - size + 1):
                ids = self.chassis.get("-".join(words[at : at + size]))
                if ids and not is_for(words, at):
                    return sorted(ids)
        return []

    def find_gpus(self, text: str) -> Gpus:
        """Return the GPUs that a text names."""
        counted = _TIMES_BEHIND.sub(r"\2 x \1", text.lower())
        spaced = _space_ideographs(_TIMES.sub(r"\1 x ", counted))
        words, ends = split_words(spaced), [match.end() for match in _TOKEN.finditer(spaced) if match[0].strip(MARKS)]
        ids, pieces, at, unknown = frozenset[str](), None, 0, False
        while at < len(words):
            for size in range(LONGEST_NAME, 0, -1):
                fits = self._gpus.get("-".join(words[at : at + size]))
                if fits and at + size <= len(words):
                    size_said = _MEMORY_OF.match(spaced, ends[at + size - 1])
                    if size_said and not any(self._has_memory(id, int(size_said[1])) for id in fits):
                        unknown = True
                    ids = ids & fits or ids | fits
                    pieces = pieces or _times(words[:at])
                    at += size - 1
                    break
            at += 1
        if not pieces and (said := GPU_COUNT.search(text.lower())):
            pieces = _NUMERALS.get(said[2]) or int(said[1])
        return Gpus(frozenset() if unknown else self._narrow(ids, text.lower(), words), pieces, unknown)

    def _has_memory(self, id: str, size: int) -> bool:
        """Return whether a GPU has a memory of this size [GB], by any document, or as many of them as a board has."""
        record = self.catalog.find_original(GPU, id)
        told = [match[0] for note in record.data.get("disagreements", ()) if (match := _MEMORIES.match(note))]
        sizes = {float(number) for number in _SIZES.findall(f"{record.value('memory') or ''} {told}")}
        return not sizes or any(size == times * memory for memory in sizes for times in _TIMES_MEMORY)

    def with_gpus(self, servers: Sequence[str], gpus: Gpus) -> list[str]:
        """Return the servers that have one of these GPUs; all of them if no GPU is named."""
        find = self.catalog.find_original
        if gpus.unknown:
            return []
        return [id for id in servers if not gpus.ids or str(find(SERVER, id).value(GPU)) in gpus.ids]

    def find_generic_server(self, gpus: Gpus) -> list[Part]:
        """Return the generic servers with these GPUs, and with their number if it is stated."""
        usual = {id for id in gpus.ids if _USUAL_FORM in id} or gpus.ids
        servers = (server for server in self._generic if server.value(GPU) in usual)
        return [(SERVER, server.id) for server in servers if gpus.pieces in (None, server.value("gpus"))]

    def _narrow(self, ids: frozenset[str], text: str, words: Sequence[str]) -> frozenset[str]:
        sizes = {f"{size} GB" for size in _MEMORY.findall(text)}
        of_size = frozenset(id for id in ids if str(self.catalog.find_original(GPU, id).value("memory")) in sizes)
        ids = of_size or ids
        for word, form in _FORMS.items():
            if any(term.rstrip("0123456789") == word for term in words if term != "nvl72"):
                ids = frozenset(id for id in ids if form in id) or ids
        return ids


def gpus_of(server: Record) -> int:
    """Return the GPUs of a piece of a server: of a rack-scale system those of all its trays."""
    return int(server.value("gpus") or 0) * int(server.value("trays") or 1)


def split_words(text: str) -> list[str]:
    """Return the words of a text in lower case, without marks; each ideograph is a word."""
    stripped = (word.strip(MARKS) for word in _TOKEN.findall(_space_ideographs(text)))
    return [word for word in stripped if word]


def _space_ideographs(text: str) -> str:
    return _IDEOGRAPH.sub(r" \1 ", text.lower())


def is_for(words: Sequence[str], at: int) -> bool:
    """Return whether a word names the host of a part."""
    before = words[max(at - BEHIND_FOR - 1, 0) : at]
    return any(tuple(before[i : i + len(mark)]) == mark for mark in _FOR for i in range(len(before)))


def _times(words: Sequence[str]) -> int | None:
    """Return the number in `8 x NVIDIA HGX` before the name of a GPU."""
    for at in range(len(words) - 1, max(len(words) - LONGEST_NAME - 1, 0), -1):
        if words[at] == "x" and words[at - 1].isdigit():
            return int(words[at - 1])
    return None


# links --------------------------------------------------------------------------------------------------------------
# The modules and cables that words describe.

COPPER = "copper"
UPC_GBPS = 100
"""Highest rate [Gb/s] of MPO fibres that are polished flat unless the text says otherwise, as for SR4 of 25G lanes."""


def fitting_records(words: LinkWords, catalog: Catalog) -> list[Record]:
    """Return the catalogue parts that have all that the words say: generic ones if there are any, else all."""
    records = [record for record in catalog.all(words.kind) if has_words(record, words)] if words.kind else []
    generic = [record for record in records if record.data.get("generic")]
    caged = [record for record in generic if record.value("cage") == words.cage]
    return caged or generic or records


def has_words(record: Record, words: LinkWords) -> bool:
    """Return whether a part has all that the words of a module or cable say."""
    if record.kind != words.kind:
        return False
    return _is_module(record, words) if record.kind == TRANSCEIVER else _is_cable(record, words)


def _is_module(record: Record, words: LinkWords) -> bool:
    value, gbps, cage = record.value, record.value("rate_gbps"), str(record.value("cage"))
    if not gbps or int(gbps) != words.gbps:
        return False
    if not words.optic:  # a placeholder for a rate alone, which stands for a module of one port or two
        return bool(value("optic") == ANY)
    alike = value("optic") == words.optic and int(value("ports") or 1) == words.ports
    is_caged = not words.cage or cage in (ANY, words.cage) or cage.startswith(f"{words.cage}-f")
    return bool(alike and is_caged and value("fibre") == words.fibre)


def _is_cable(record: Record, words: LinkWords) -> bool:
    kind, value = record.value("kind"), record.value
    if kind != words.medium:
        return False
    ends = int(value("b", "ends") or 1)
    if kind == COPPER:
        return True
    if kind == FIBRE:
        polish = words.polish or ("upc" if words.connector == "mpo-12" and 0 < words.gbps <= UPC_GBPS else "apc")
        connector = f"{words.connector}-{polish}" if words.connector.startswith("mpo") else words.connector
        return bool(value("fibre") == words.fibre and value("connector") == connector and ends == words.ends)
    total = int(value("link_gbps") or 0) * int(value("a", "ports") or 1)
    if ends != words.ends or total != words.gbps:
        return False
    cages = [str(value(end, "cage")) for end in ("a", "b")]
    said = (words.forms * 2)[:2] if words.forms else ()
    return all(cage == ANY or cage.startswith(form) for cage, form in zip(cages, said, strict=False))
