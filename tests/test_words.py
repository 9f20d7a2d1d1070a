"""The documentation, the templates and the texts of documents use the words of docs/glossary.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PRIVATE = {
    "is no quantity of": "is not a valid length",
    "stands twice": "is duplicated",
    "slip": "looks wrong",
    "mend": "fix",
    "mends": "fixes",
    "mended": "fixed",
    "mending": "fixing",
    "truth value": "true or false",
    "would do": "are enough",
    "reaches over several": "spans",
    "both say how fast": "conflict",
    "has a loop no end": "infinite loop",
    "is no name for": "is not a valid file name",
    "told apart": "distinguished",
    "be shared out": "must be set per cluster",
    "take it for an error": "fail if",
    "can be given again": "repeatable",
    "goes on calculating": "stays live",
    "hang on": "attach to",
    "hangs on": "attaches to",
    "signs": "characters",
    "nought": "0",
    "what he earns": "the margin",
    "comes about": "is calculated",
    "come about": "are calculated",
    "came about": "was calculated",
    "joins": "connects",
    "power at most": "maximum power",
    "1 switches": "1 switch",
    "1 pieces": "1 piece",
}
"""Expressions that readers in the field do not know, each with what they write instead."""
PAGES = sorted(
    [
        *(ROOT / "docs").rglob("*.md"),
        *(path for path in (ROOT / "templates").iterdir() if path.suffix in {".j2", ".yaml"}),
        *(
            ROOT / name
            for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "bomgen/data/language/en.yaml")
        ),
    ]
)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages_use_the_words_of_the_field(page: Path) -> None:
    """A page has none of the expressions that the glossary replaces."""
    text = page.read_text("utf-8")
    expression = re.compile(r"\b(?:" + "|".join(each.replace(" ", r"\s+") for each in PRIVATE) + r")\b", re.IGNORECASE)
    found = [
        f"{page.relative_to(ROOT)}:{text.count(chr(10), 0, match.start()) + 1}: {' '.join(match[0].split())!r}: "
        f"write {PRIVATE[' '.join(match[0].lower().split())]!r}"
        for match in expression.finditer(text)
    ]
    assert found == []


def test_the_glossary_is_found() -> None:
    """README.md and the navigation of the documentation lead to the glossary."""
    assert "(docs/glossary.md)" in (ROOT / "README.md").read_text("utf-8")
    assert ": glossary.md" in (ROOT / "mkdocs.yml").read_text("utf-8")
