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

from collections.abc import Callable, Collection, Iterable, Mapping
from decimal import Decimal
from fractions import Fraction
from functools import cache
from string import Formatter
from typing import Any

from bomgen.core.diagnostics import nearest
from bomgen.core.resources import BrokenInstallation, folder
from bomgen.core.yaml_source import own

ENGLISH = "en"
COMMA = ", "
_NUMBER = "#"
_FORMS = "|"
Parameter = str | int | Fraction | Decimal | Iterable[str]


class Message(str):
    """An English text that other languages translate by its code and parameters."""

    code: str
    parameters: Mapping[str, Parameter]

    def __new__(cls, text: str, code: str, parameters: Mapping[str, Parameter] | None = None) -> Message:
        """Create a message from its English text, code and parameters."""
        made = super().__new__(cls, text)
        made.code, made.parameters = code, parameters or {}
        return made

    def __getnewargs__(self) -> tuple[str, str, Mapping[str, Parameter]]:  # type: ignore[override]
        """Return the arguments of a copy."""
        return str(self), self.code, self.parameters


def message(code: str, /, **parameters: Parameter) -> Message:
    """Return the English sentence of a code. Raises KeyError for an unknown code or a missing parameter."""
    kept = {
        name: value if isinstance(value, (str, int, Fraction, Decimal)) else tuple(value)
        for name, value in parameters.items()
    }
    english = read_language(ENGLISH)
    text = fill(english["messages"][code], kept, lambda _, text: text, thousands=english["thousands"])
    return Message(text, code, kept)


def suggestion(word: str, known: Collection[str], otherwise: str = "") -> str:
    """Return the remedy for a mistyped word: the closest known word, or `otherwise` where all are too different.

    By default that is all known words.
    """
    if close := nearest(word, known):
        return message("did-you-mean", id=close[0])
    return otherwise or message("there-are", key=COMMA.join(known) or "none")


def unknown(what: str, word: str, known: Collection[str]) -> str:
    """Return the message for a name of which there is nothing: `what` is missing, and the remedy."""
    return message("unknown-name", what=what, id=word, remedy=suggestion(word, known))


def record_text(text: str, *path: str) -> Message:
    """Return a text of a record as a message; `place` is the kind and the id of the record.

    It includes a key if the record has several texts.
    """
    return Message(text, "/".join(path))


def fill(
    sentence: str,
    parameters: Mapping[str, Parameter],
    translate: Callable[[str, str], str],
    comma: str = COMMA,
    thousands: str = COMMA.strip(),
    point: str = ".",
) -> str:
    """Return a sentence with its placeholders filled; `translate` gives the text for a placeholder and its value.

    `comma` separates the members of a list, `thousands` the digits of long numbers, and `point` precedes the cents of
    an amount.
    """
    filled = []
    for text, name, form, _ in Formatter().parse(sentence):
        filled.append(text)
        if name:
            filled.append(_shown(name, parameters[name], form or "", translate, comma, thousands, point))
    return "".join(filled)


def places(sentence: str) -> set[str]:
    """Return the names of the placeholders of a sentence."""
    return {name for _, name, _, _ in Formatter().parse(sentence) if name}


def group_digits(number: int, thousands: str) -> str:
    """Return an integer, its thousands separated."""
    return f"{int(number):,}".replace(",", thousands)


def _shown(
    name: str,
    value: Parameter,
    form: str,
    translate: Callable[[str, str], str],
    comma: str,
    thousands: str,
    point: str,
) -> str:
    if isinstance(value, str):
        return translate(name, value)
    if isinstance(value, Decimal):
        whole, _, cents = f"{value:,f}".partition(".")
        return whole.replace(",", thousands) + (point + cents if cents else "")
    if isinstance(value, (int, Fraction)):
        number = group_digits(int(value), thousands) if value == int(value) else str(value)
        one, _, plural = form.partition(_FORMS)
        return (one if value == 1 else plural).replace(_NUMBER, number) if form else number
    texts = [translate(name, item) for item in value]
    if form and len(texts) > 1:
        return f"{comma.join(texts[:-1])} {form} {texts[-1]}"
    return comma.join(texts)


@cache
def read_language(code: str) -> Mapping[str, Any]:
    """Return the content of a language file.

    Raises BrokenInstallation when there is no file, or when it lacks a word or a sentence that the English one has.
    """
    path = folder("data") / "language" / f"{code}.yaml"
    data: Mapping[str, Any] = own(path, path.name).data
    english = data if code == ENGLISH else read_language(ENGLISH)
    missing = [name for part in ("words", "messages", "inputs") for name in english[part] if name not in data[part]]
    if missing:
        raise BrokenInstallation(f"{path} has no text for {COMMA.join(missing)}")
    return data
