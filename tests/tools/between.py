"""What a tool writes into a page: all that stands between two marks of its own."""

from __future__ import annotations

from pathlib import Path

TRUST = Path(__file__).parents[2] / "docs" / "trust.md"
"""The page of what the tests of tests were."""


def filled(page: str, name: str, text: str) -> str:
    """A page with a text between the marks of a name, which are comments. Raises ValueError for a page without them."""
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, begun, rest = page.partition(begin)
    _, ended, after = rest.partition(end)
    if not begun or not ended:
        raise ValueError(f"the page has no {begin}, or no {end} behind it")
    return f"{before}{begin}\n\n{text}\n{end}{after}"
