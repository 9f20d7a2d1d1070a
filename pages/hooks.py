"""What MkDocs asks while it builds the site: the written pages, and the language of a page."""

from __future__ import annotations

from typing import Any

from mkdocs.structure.files import File, Files
from written import pages

CHINESE = "zh/"


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made of the package's data."""
    for path, text in pages():
        files.append(File.generated(config, path, content=text))
    return files


def on_post_page(output: str, page: Any, config: Any) -> str:  # noqa: ARG001 - MkDocs passes it
    """Say in which language a page is, for screen readers and search."""
    return output.replace('lang="en"', 'lang="zh"', 1) if page.file.src_uri.startswith(CHINESE) else output
