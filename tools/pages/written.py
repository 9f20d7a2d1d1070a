"""Every page that is written rather than kept: by its path in the site, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator

import catalogue
import commands
import errors
import formulas
import keys
import readme


def pages() -> Iterator[tuple[str, str]]:
    """All of them, made of the package's own data, the transcripts of the tests and the READMEs."""
    for each in (readme.pages, commands.pages, keys.pages, errors.pages, catalogue.pages, formulas.pages):
        yield from each()
    yield from formulas.assumptions()
