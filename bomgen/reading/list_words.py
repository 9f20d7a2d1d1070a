"""The words of price lists by language, for headings and for rows.

Each file `data/list-words.LANGUAGE.yaml` is a language.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable
from decimal import Decimal
from functools import cache, lru_cache
from typing import Any, NamedTuple

from bomgen.core.resources import folder
from bomgen.core.units import minor_units
from bomgen.core.yaml_source import own

SIGNS = {
    **{"US$": "USD", "CA$": "CAD", "C$": "CAD", "AU$": "AUD", "A$": "AUD", "HK$": "HKD", "S$": "SGD", "NT$": "TWD"},
    **{"R$": "BRL", "€": "EUR", "£": "GBP", "₹": "INR", "₩": "KRW", "円": "JPY", "$": "USD"},
}
"""Currencies by sign, longer signs first. A dollar sign alone stands for USD."""
WORDS = frozenset(("ALL", "BOB", "COP", "CUP", "GEL", "MAD", "MOP", "PEN", "SOS", "TOP", "TRY"))
"""Currency codes that are also words; they count as currencies only if they are alone ("ALL PRICES IN USD")."""
KEPT = 4096
ENGLISH = "en"
YEN = "¥"
"""The sign of yuan and yen, resolved by the language of the list."""
_BRACKETS = re.compile(r"[(\[（【][^)\]）】]*[)\]）】]")
_PUNCTUATION = re.compile(r"[\s.,:;/\\_\-'’\"*|&]+")
_PIECES = re.compile(r"[\s()/:,;\[\]]+")
_RATE = re.compile(r"[0-9]+(?:[.,][0-9]+)? *%")
_CODE = re.compile(r"(?<![A-Za-z])([A-Z]{3})(?![A-Za-z])")


_COUNT = r"([0-9]{1,3}(?:[.,' ][0-9]{3}){1,2}|[0-9]{1,9})"
_PIECES_WORD = r"(?: *(?:pcs?|pieces?|units?|ea|stk|stück|台|个|件|只|根|块))?\.?"
_BREAKS = tuple(
    re.compile(rf"(?<![0-9.,]){form}{_PIECES_WORD}(?![0-9.,])", re.IGNORECASE)
    for form in (
        rf"(?!20[0-9]{{2}} *- *20[0-9]{{2}}){_COUNT} *(?:-|–|—|~|\bto\b|\bbis\b|至|到) *[0-9][0-9.,' ]*",
        rf"(?:>=|≥|\bfrom\b|\bab\b|\bmin\.?) *{_COUNT} *\+?",
        rf"{_COUNT} *(?:\+|(?:or|and) (?:more|up)\b|& up\b|und mehr\b|{_PIECES_WORD}(?:以上|及以上|起))",
    )
)
"""Minimum quantities of a price: `10-99`, `from 10`, `>= 10`, `10+`, `10台以上`; 2026-2027 are years."""
PRICE_ROLES = frozenset(("net_price", "price", "list_price"))
TAXED = "taxed_price"
_FOR_SEVERAL = re.compile(
    rf"(?:/|\b(?:per|je|pro|par|for)\b|每) *(?P<pieces>10{{1,4}})(?![.,]?[0-9]){_PIECES_WORD}(?!\w)", re.IGNORECASE
)
"""Units of prices for several pieces: `per 100`, `/1000 Stk`."""
ONE = Decimal(1)
MAX_HEADING = 200
"""Maximum length of a heading, and of a cell with a value; longer ones are notes."""


class Heading(NamedTuple):
    """The meaning of a column heading."""

    roles: tuple[str, ...]
    """Possible roles of the column; empty if the name is unknown."""
    currency: str | None
    languages: tuple[str, ...]
    """Languages with this name."""
    text: str
    from_quantity: int | None = None
    """Minimum quantity in the heading: 10 for `Price 10-99`."""
    scale: Decimal = ONE
    """Factor from amounts to unit prices in the currency: 10000 for 单价（万元）, 0.01 for `per 100`."""


@cache
def languages() -> dict[str, dict[str, Any]]:
    """Return the words of every language by its code, English first."""
    paths = sorted(folder("data").glob("list-words.*.yaml"), key=lambda path: (".en." not in path.name, path.name))
    return {path.name.split(".")[1]: own(path, path.name).data for path in paths}


@cache
def words(kind: str) -> frozenset[str]:
    """Return the words of a kind in all languages, such as `sums`."""
    return frozenset(normalize(word) for language in languages().values() for word in language.get(kind, ()))


@cache
def _roles() -> dict[str, tuple[tuple[str, ...], tuple[str, ...]]]:
    meanings: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {}
    for code, language in languages().items():
        for role, headings in language["columns"].items():
            for heading in headings:
                roles, codes = meanings.get(normalize(heading), ((), ()))
                named = tuple(dict.fromkeys((*roles, role))), tuple(dict.fromkeys((*codes, code)))
                meanings[normalize(heading)] = named
    return meanings


@cache
def _currency_names() -> dict[str, str]:
    return {
        normalize(name): code
        for language in languages().values()
        for name, code in language["currencies"].items()
        if code
    }


def normalize(text: str) -> str:
    """Return a text in lower case without punctuation and repeated spaces; wide characters become narrow."""
    text = unicodedata.normalize("NFKC", text).replace("%", " % ").replace("#", " # ")
    return " ".join(_PUNCTUATION.sub(" ", text).lower().split())


@cache
def read_heading(text: str) -> Heading:
    """Return the meaning of a heading: as written, then without brackets, then without a currency.

    `Price 10-99 (EUR)` is a price from 10 pieces, and so is `10-99` alone; `Price per 100` is one for 100 pieces.
    """
    if len(text) > MAX_HEADING:
        return Heading((), None, (), text)
    scale, bare = find_scale(text), text
    if scale != ONE:
        bare = _FOR_SEVERAL.sub(" ", unicodedata.normalize("NFKC", text))
        for word, _ in _multiples():
            bare = word.sub(" ", bare)
    heading = _read_break(bare) or _read_heading(bare)
    return heading._replace(currency=find_currency(text), text=text, scale=scale)


def _read_break(text: str) -> Heading | None:
    price_break = find_break(text)
    if price_break is None:
        return None
    quantity, around = price_break
    without = _read_heading(around)
    prices = tuple(role for role in without.roles if role in PRICE_ROLES)
    if prices or "quantity" in without.roles or not re.sub(r"\W", "", _BRACKETS.sub(" ", around)):
        return Heading(prices or ("price",), None, without.languages, text, quantity)
    return None


def _read_heading(text: str) -> Heading:
    plain = _BRACKETS.sub(" ", text)
    currency = find_currency(text)
    without = " ".join(word for word in plain.split() if find_currency(word) is None or normalize(word) in _roles())
    for form in (text, plain, without, re.sub(r"[$€£¥￥]", " ", without)):
        roles, codes = _roles().get(normalize(form), ((), ()))
        if roles:
            if PRICE_ROLES & {*roles} and has_tax(text):
                roles = (TAXED,)
            return Heading(roles, currency, codes, text)
    return Heading((), currency, (), text)


def find_break(text: str) -> tuple[int, str] | None:
    """Return the minimum quantity in a heading or a cell, and the text around it; None without one."""
    plain = " ".join(unicodedata.normalize("NFKC", text[:MAX_HEADING]).split())
    for form in _BREAKS:
        if match := form.search(plain):
            quantity = max(int(re.sub("[^0-9]", "", match[1])), 1)
            return quantity, f"{plain[: match.start()]} {plain[match.end() :]}"
    return None


def find_currency(text: str) -> str | None:
    """Return the only currency in a text; None if it has none or several."""
    currencies = find_currencies(text)
    return next(iter(currencies)) if len(currencies) == 1 else None


@lru_cache(maxsize=KEPT)
def find_currencies(text: str) -> frozenset[str]:
    """Return the currencies in a text by code, sign or name; `¥` alone if it does not say yuan or yen."""
    text = unicodedata.normalize("NFKC", text)
    codes = {str(code) for code in _CODE.findall(text) if code in minor_units()}
    currencies = {code for code in codes if code not in WORDS or code == text.strip(" ()[]")}
    currencies |= {named for piece in _PIECES.split(text) if (named := _currency_names().get(normalize(piece)))}
    if not text.isascii():
        # In a script without spaces between words, a name of two signs or more counts anywhere.
        names = {name: code for name, code in _currency_names().items() if len(name) > 1 and not name.isascii()}
        currencies |= {code for name, code in names.items() if name in text}
    for sign, code in SIGNS.items():
        if sign in text:
            currencies.add(code)
            text = text.replace(sign, " ")
    return frozenset(currencies or ({YEN} if YEN in text else ()))


def language_of(headings: Iterable[Heading]) -> str:
    """Return the language with the most headings that English lacks; English if it has all, empty if ambiguous."""
    counts = Counter(code for heading in headings if ENGLISH not in heading.languages for code in heading.languages)
    best = [code for code, count in counts.items() if count == max(counts.values())] or [ENGLISH]
    return best[0] if len(best) == 1 else ""


def yen_of(language: str) -> str | None:
    """Return the currency of `¥` in lists of a language; None if unknown."""
    currency = languages().get(language, {}).get("yen")
    return str(currency) if currency else None


def decimal_of(language: str) -> str | None:
    """Return the decimal separator of a language; None if both are in use."""
    separator = languages().get(language, {}).get("decimal")
    return str(separator) if separator else None


def has_price_word(heading: str) -> bool:
    """Return whether an unknown heading may be that of prices."""
    pieces = normalize(re.sub(r"[()\[\]（）]", " ", heading)).split()
    # In scripts without spaces, headings end with words for prices.
    endings = tuple(word for word in words("price_words") if not word.isascii())
    return any(piece in words("price_words") or piece.endswith(endings) for piece in pieces)


def has_tax(text: str) -> bool | None:
    """Return whether prices include tax; None if a text does not say. If it says both, net prices come first."""
    return False if _has_words(text, "without_tax") else True if _has_words(text, "with_tax") else None


def _has_words(text: str, kind: str) -> bool:
    """Return whether a text has words of a kind; in a script without spaces also inside other words."""
    plain = normalize(re.sub(r"[()\[\]]", " ", _RATE.sub(" ", unicodedata.normalize("NFKC", text))))
    joined = plain.replace(" ", "")
    return any(f" {word} " in f" {plain} " if word.isascii() else word in joined for word in words(kind))


def find_scale(text: str) -> Decimal:
    """Return the factor from the amounts of a heading or title to unit prices in the currency; 1 by default."""
    plain = unicodedata.normalize("NFKC", text)
    pieces = _FOR_SEVERAL.search(plain)
    times = next((Decimal(times) for word, times in _multiples() if word.search(plain)), ONE)
    return times / Decimal(pieces["pieces"]) if pieces else times


@cache
def _multiples() -> tuple[tuple[re.Pattern[str], int], ...]:
    """Return patterns for thousands and other multiples in headings, longer ones first, with their values."""
    named = {word: times for language in languages().values() for word, times in language["multiples"].items()}
    return tuple(
        (re.compile(rf"\b{word}\b" if word.isascii() else rf"(?<![0-9]){word}(?!\w)", re.IGNORECASE), times)
        for word, times in sorted(named.items(), key=lambda item: -len(item[0]))
    )
