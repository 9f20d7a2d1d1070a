"""Messages: a code and parameters, with one sentence for each language.

`message("rack-load", held="900", rack=rack.identity.name, borne="800")` is the English sentence, and keeps its code
and parameters, so that `Language.message` says the same in another language. The sentences stand in
`data/language/CODE.yaml` under `messages:`. A place is written

- `{held}`: a text, a number, an amount of money (a Decimal), another message, or a list of them;
- `{count:# switch|# switches}`: a number with its noun, the first form for one, `#` for the number itself;
- `{names:and}`: a list whose last two members the word joins; without a word, commas do.

Texts of records (parts, assumptions) are written in the record; `record_text` notes the record that a text is of, and
a language translates it by that, under `records:`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from string import Formatter
from typing import Any

from bomgen.core.resources import BrokenInstallation, folder
from bomgen.core.yaml_source import own

ENGLISH = "en"
COMMA = ", "
GROUPED = 10**4
"""From here on the thousands of a number are separated; shorter ones (2048, 2026) are found by a plain search."""
_NUMBER = "#"
_FORMS = "|"
Parameter = str | int | Fraction | Decimal | Iterable[str]


class Message(str):
    """An English text that another language has a sentence for: by its code, with its parameters."""

    code: str
    parameters: Mapping[str, Parameter]

    def __new__(cls, text: str, code: str, parameters: Mapping[str, Parameter] | None = None) -> Message:
        """The English text, with what it was made from."""
        made = super().__new__(cls, text)
        made.code, made.parameters = code, parameters or {}
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, Parameter]]:  # type: ignore[override]
        """What a copy is made from."""
        return str(self), self.code, self.parameters


def message(code: str, /, **parameters: Parameter) -> Message:
    """The English sentence of a code. Raises KeyError when there is none, or when it has a place without parameter."""
    kept = {
        place: value if isinstance(value, (str, int, Fraction, Decimal)) else tuple(value)
        for place, value in parameters.items()
    }
    english = read_language(ENGLISH)
    text = fill(english["messages"][code], kept, lambda _, text: text, thousands=english["thousands"])
    return Message(text, code, kept)


def record_text(text: str, *place: str) -> Message:
    """A text of a record, and where it stands: the kind and the id of the record, and a key if it has several texts."""
    return Message(text, "/".join(place))


def fill(
    sentence: str,
    parameters: Mapping[str, Parameter],
    translate: Callable[[str, str], str],
    comma: str = COMMA,
    thousands: str = COMMA.strip(),
    point: str = ".",
) -> str:
    """A sentence with its places filled; `translate` gives the text for a place and what stands in it.

    `comma` stands between the members of a list, `thousands` in long numbers, `point` before the cents of an amount.
    """
    filled = []
    for text, place, form, _ in _pieces(sentence):
        filled.append(text)
        if place:
            filled.append(_shown(place, parameters[place], form or "", translate, comma, thousands, point))
    return "".join(filled)


@cache
def _pieces(sentence: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    """The texts of a sentence, each with the place behind it and what that has for its forms."""
    return tuple(Formatter().parse(sentence))


def places(sentence: str) -> set[str]:
    """The names of a sentence's places."""
    return {place for _, place, _, _ in _pieces(sentence) if place}


def group_digits(number: int, thousands: str) -> str:
    """A whole number, its thousands separated when it is long."""
    return f"{number:,}".replace(",", thousands) if abs(number) >= GROUPED else str(int(number))


def _shown(
    place: str,
    value: Parameter,
    form: str,
    translate: Callable[[str, str], str],
    comma: str,
    thousands: str,
    point: str,
) -> str:
    if isinstance(value, str):
        return translate(place, value)
    if isinstance(value, Decimal):
        whole, _, cents = f"{value:,f}".partition(".")
        return whole.replace(",", thousands) + (point + cents if cents else "")
    if isinstance(value, (int, Fraction)):
        number = group_digits(int(value), thousands) if value == int(value) else str(value)
        one, _, other = form.partition(_FORMS)
        return (one if value == 1 else other).replace(_NUMBER, number) if form else number
    texts = [translate(place, each) for each in value]
    if form and len(texts) > 1:
        return f"{comma.join(texts[:-1])} {form} {texts[-1]}"
    return comma.join(texts)


@cache
def read_language(code: str) -> Mapping[str, Any]:
    """What the file of a language holds.

    Raises BrokenInstallation when there is no file, or when it lacks a word or a sentence that the English one has.
    """
    path = folder("data") / "language" / f"{code}.yaml"
    data: Mapping[str, Any] = own(path, path.name).data
    english = data if code == ENGLISH else read_language(ENGLISH)
    missing = [name for part in ("words", "messages", "inputs") for name in english[part] if name not in data[part]]
    if missing:
        raise BrokenInstallation(f"{path} has no text for {COMMA.join(missing)}")
    return data
