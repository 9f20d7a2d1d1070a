"""Every page that is written rather than kept: by its path in the site, as Markdown.

Pages at the top of the checkout are among them, with links turned to where the site has the pages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import catalogue
import commands
import errors
import formulas
import keys

ROOT = Path(__file__).parents[2]
HOMES = {"README.md": ("index.md", ""), "README.zh.md": ("zh/index.md", "../")}
TOP = {"CONTRIBUTING.md": "contributing.md", "SECURITY.md": "security.md", "CHANGELOG.md": "changes.md"}
"""Other pages that stand at the top of the checkout, with their place in the site."""


def pages_of_the_top() -> Iterator[tuple[str, str]]:
    """The home page of each language and the other pages of the top of the checkout, by their paths."""
    for name, (path, up) in HOMES.items():
        yield path, moved((ROOT / name).read_text(encoding="utf-8"), up)
    for name, path in TOP.items():
        yield path, moved((ROOT / name).read_text(encoding="utf-8"), "")


def moved(text: str, up: str) -> str:
    """A text of the checkout's top with its links as they are from a page of the site."""
    text = text.replace("](docs/zh/", "](zh/" if not up else "](")
    text = text.replace("](docs/", f"]({up}")
    for name, path in ({name: path for name, (path, _) in HOMES.items()} | TOP).items():
        text = text.replace(f"]({name})", f"]({up}{path})")
    return re.sub(r"\]\(zh/", f"]({up}zh/" if up else "](zh/", text)


def pages() -> Iterator[tuple[str, str]]:
    """All of them, made of the package's own data, the transcripts of the tests and the READMEs."""
    for write in (pages_of_the_top, commands.pages, keys.pages, errors.pages, catalogue.pages, formulas.pages):
        yield from write()
    yield from formulas.assumptions()
