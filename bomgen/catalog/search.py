"""Search of the catalogue in the words of customers: `CX8`, `800G LPO`, `8xH200`, `昇腾910B`. No word is dropped.

A part fits if it has every word of the text in its names, numbers, maker, chip, kind, medium or rate. The letters and
digits of a word must stand side by side, so that `L4` is not `L40`. `data/search-words.yaml` says what customers write
for words of part files, and what they ask for that the catalogue does not have.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, NamedTuple

from bomgen.catalog.files import KINDS, NOT_PARTS, Catalog, Record, built_in
from bomgen.core.diagnostics import nearest
from bomgen.core.messages import read_language
from bomgen.core.resources import languages
from bomgen.core.yaml_source import read_data

WORDS = "search-words.yaml"
SHOWN_NEAREST = 3
PREFIX = 4
"""Letters at which a word may be the beginning of another: `weka` of `WEKApod`."""
TERA = 1000
_FIELDS = (
    "vendor",
    "asic",
    "gpu",
    "kind",
    "electronics",
    "optic",
    "cage",
    "fibre",
    "protocol",
    "protocols",
    "category",
)
"""Fields besides names and numbers whose words are searched."""
_TIMES = re.compile(r"(?<!\w)(\d{1,3})\s*[x×*]\s*(?=[^\W\d])")
"""A count before a name, as in `8xH200`; longer numbers are names, as in `7060XE7`."""
_TOKEN = re.compile(r"[^\W\d_]+|\d+(?:\.\d+)?")


class Found(NamedTuple):
    """What a search found."""

    parts: tuple[Record, ...]
    """The parts with every word, those of this very name first."""
    why: str = ""
    """Why the catalogue lacks it, for what customers ask for; empty if unknown."""
    nearest: tuple[Record, ...] = ()
    """Without parts, those that come nearest."""


def search(catalog: Catalog, text: str) -> Found:
    """Return the parts that have every word of a text; without any, why not and what comes nearest."""
    records = [record for kind in KINDS if kind not in NOT_PARTS for record in catalog.all(kind)]
    text = _plain(text)
    for said, meant in read_data(WORDS)["words"].items():  # `CX8` becomes `connectx8`, as part files write it
        text = re.sub(rf"(?<![^\W\d_]){said}(?![^\W\d_])", meant, text)
    (whole,), wanted = _phrases([text]), _phrases(text.split())
    if not whole.strip():
        return Found(())
    translations = [read_language(code).get("records", {}) for code in languages()]
    written = [(record, _written(record, translations)) for record in records]
    named = [record for record, words in written if f"|{whole}|" in words]
    if not named and (missing := _missing().get(whole)):
        near = (built_in(*part.split("/")) for part in missing.get("nearest", ()))
        return Found((), str(missing["why"]), tuple(near))
    fits = [record for record, words in written if all(_has(words, word) for word in wanted)]
    if fits:
        return Found((*named, *(record for record in fits if record not in named)))
    return Found((), "", _nearest(written, wanted, whole))


def _nearest(written: list[tuple[Record, str]], wanted: list[str], whole: str) -> tuple[Record, ...]:
    """Return the parts with most of the words, at least half of them, otherwise those of the most similar name."""
    telling = [word for word in wanted if not word.strip().replace(" ", "").isdecimal()]
    scored = [([word for word in telling if _has(words, word)], record) for record, words in written]
    # Of two words, that of a kind says more than that of a rate.
    most = max((len(had), sum(word.strip().isalpha() for word in had)) for had, _ in scored)
    if most[0] * 2 >= len(telling) and most[0]:
        same = [record for had, record in scored if (len(had), sum(word.strip().isalpha() for word in had)) == most]
        return tuple(same[:SHOWN_NEAREST])
    by_name = {
        name: record for record, _ in written for name in _phrases([str(record.value("name")), *record.maker_names])
    }
    similar = (by_name[name] for name in nearest(whole, by_name, SHOWN_NEAREST))
    return tuple({(record.kind, record.id): record for record in similar}.values())


def _phrases(words: Iterable[str]) -> list[str]:
    """Return the letters and digits of each word, apart: `CX8` is ` cx 8 `."""
    phrases = (f" {' '.join(_TOKEN.findall(word))} " for word in map(_plain, words))
    return [phrase for phrase in phrases if phrase.strip()] or [" "]


def _plain(text: str) -> str:
    return _TIMES.sub(r"\1-x-", unicodedata.normalize("NFKC", text).lower())


def _has(words: str, word: str) -> bool:
    letters = word.split()[-1] if word.strip() else ""
    return word in words or (letters.isalpha() and len(letters) >= PREFIX and word.rstrip() in words)


def _written(record: Record, translations: Iterable[Mapping[str, str]]) -> str:
    """Return all that a part is called, each name between bars as `_phrases` writes it."""
    values = [record.value(field) for field in _FIELDS]
    listed = [str(entry) for value in values for entry in (value if isinstance(value, list) else [value]) if entry]
    rate = record.value("rate_gbps") or record.value("port_gbps")
    rates = [f"{rate}G", *([f"{rate / TERA:g}T"] if rate >= TERA else [])] if isinstance(rate, int) else []
    title = str(record.value("name"))
    texts = (texts.get(f"{record.kind}/{record.id}", "") for texts in translations)
    names = (title, title.partition(",")[0], *filter(None, texts), *record.names, record.kind, *listed, *rates)
    return f"|{'|'.join(_phrases(names))}|"


@cache
def _missing() -> Mapping[str, Mapping[str, Any]]:
    return {phrase: entry for entry in read_data(WORDS)["missing"] for phrase in _phrases(entry["names"])}
