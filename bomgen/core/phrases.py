"""Texts with places for names and numbers: which of them a text is an instance of, and what stands in its places.

`{place}` holds any text, `{place:d}` a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from string import Formatter
from typing import NamedTuple

_NUMBER = "[0-9]+"


class _Phrase(NamedTuple):
    template: str
    longest: str
    """Its longest part without places, which a text must hold to be an instance."""
    said: int
    """Characters outside places."""


class Phrases:
    """Templates with {places}; of several that fit a text the one that says most of it itself counts."""

    def __init__(self, templates: Iterable[str]) -> None:
        phrases = [_phrase(template) for template in templates]
        self._fixed = {phrase.longest: phrase.template for phrase in phrases if not places(phrase.template)}
        self._open = sorted((phrase for phrase in phrases if places(phrase.template)), key=lambda phrase: -phrase.said)
        self._patterns: dict[str, re.Pattern[str]] = {}

    def find(self, text: str) -> tuple[str, Mapping[str, str]] | None:
        """The template that a text is an instance of, and what stands in its places; None when there is none."""
        if text in self._fixed:
            return self._fixed[text], {}
        for template, longest, _ in self._open:
            if longest in text and (match := self._pattern(template).fullmatch(text)):
                return template, match.groupdict()
        return None

    def _pattern(self, template: str) -> re.Pattern[str]:
        """The expression of a template, compiled when a text may be an instance of it."""
        if template not in self._patterns:
            parts = (
                re.escape(said) + (f"(?P<{place}>{_NUMBER if kind == 'd' else '.+?'})" if place else "")
                for said, place, kind, _ in _parsed(template)
            )
            self._patterns[template] = re.compile("".join(parts), re.DOTALL)
        return self._patterns[template]


def places(template: str) -> list[str]:
    """The names of a template's places, in its order."""
    return [place for _, place, _, _ in _parsed(template) if place]


def _parsed(template: str) -> Iterable[tuple[str, str | None, str | None, str | None]]:
    return Formatter().parse(template)


def _phrase(template: str) -> _Phrase:
    said = [text for text, _, _, _ in _parsed(template)]
    return _Phrase(template, max(said, key=len, default=""), sum(map(len, said)))
