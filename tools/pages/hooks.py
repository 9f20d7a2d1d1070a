"""What MkDocs asks while it builds the site: the written pages, and the language of a page."""

from __future__ import annotations

import re
from typing import Any

from mkdocs.structure.files import File, Files
from written import pages

CHINESE = "zh/"
EVIDENCE = ("accuracy.md", "reference-designs.md", "limits.md")
"""Pages of evidence, whose many numbers would hide what a search is for."""
TABLE = re.compile(r"<table>\n.*?</table>\n", re.DOTALL)
PLACE = re.compile(r'<div data-table="([0-9]+)"></div>')
_TABLES: list[str] = []
"""Tables of written pages, which are HTML already: Markdown would look at each of their ten thousand cells."""


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of the package's data."""
    _TABLES.clear()
    for path, text in pages():
        files.append(File.generated(config, path, content=TABLE.sub(_kept, text)))
    return files


def _kept(table: re.Match[str]) -> str:
    _TABLES.append(table[0])
    return f'<div data-table="{len(_TABLES) - 1}"></div>\n'


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:  # noqa: ARG001 - MkDocs passes them
    """Keep the evidence out of the search."""
    if page.file.src_uri in EVIDENCE:
        page.meta["search"] = {"exclude": True}
    return markdown


def on_page_context(context: Any, page: Any, config: Any, nav: Any) -> Any:  # noqa: ARG001 - MkDocs passes them
    """Let what stands around a page be in its language."""
    config.theme["language"] = "zh" if page.file.src_uri.startswith(CHINESE) else "en"
    return context


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001 - MkDocs passes them
    """Put the tables in, after the search has read the rest."""
    return PLACE.sub(lambda place: _TABLES[int(place[1])], output)
