"""The home pages of the site: README.md and README.zh.md with their links turned to where the site has the pages."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
HOMES = {"README.md": ("index.md", ""), "README.zh.md": ("zh/index.md", "../")}


def pages() -> Iterator[tuple[str, str]]:
    """The home page of each language, by its path."""
    for name, (path, up) in HOMES.items():
        yield path, moved((ROOT / name).read_text(encoding="utf-8"), up)


def moved(text: str, up: str) -> str:
    """A text of the checkout's top with its links as they are from a page of the site."""
    text = text.replace("](docs/zh/", "](zh/" if not up else "](")
    text = text.replace("](docs/", f"]({up}")
    for name, (path, _) in HOMES.items():
        text = text.replace(f"]({name})", f"]({up}{path})")
    return re.sub(r"\]\(zh/", f"]({up}zh/" if up else "](zh/", text)
