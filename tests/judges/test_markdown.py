"""markdown-it, which renders as code hosting sites do (CommonMark with their tables), reads report.md as meant."""

from __future__ import annotations

import re
from collections import Counter
from html.parser import HTMLParser

import pytest

SEPARATOR = re.compile(r"^\|(?::?-{3,}:?\|)+$", re.MULTILINE)

USUAL_NESTING = 100
"""The limit of markdown-it's own preset; that of its CommonMark preset, 20, is lower than any site's."""


class _Shape(HTMLParser):
    """Counts the elements of a page, those of tables and lists apart, and keeps what stands in cells and paragraphs."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.rows: list[list[str]] = []
        self.texts: list[str] = []
        self.inside = ""
        self.items = 0
        self.details = 0
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note an element."""
        self.tags[tag] += 1
        if tag == "details" and (dict(attrs).get("id") or "").startswith("why-"):
            self.details += 1
        self.items += tag == "li" and self.details > 0
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = "cell"
        elif tag in ("p", "li", "h1", "h2", "h3"):
            self.texts.append("")
            self.inside = "text"

    def handle_endtag(self, tag: str) -> None:
        """Leave an element."""
        if tag in ("td", "th", "p", "li"):
            self.inside = ""

    def handle_data(self, data: str) -> None:
        """Note a text."""
        if self.inside == "cell":
            self.rows[-1][-1] += data
        elif self.inside == "text":
            self.texts[-1] += data


@pytest.fixture(scope="module")
def rendered(judge, quotes):
    """Every quote.md and report.md as a page, by plan and kind."""
    judge("python:markdown_it")
    from markdown_it import MarkdownIt

    reader = MarkdownIt("commonmark", {"html": False, "maxNesting": USUAL_NESTING}).enable("table")
    return {
        f"{plan}/{kind}": _Shape(reader.render((folder / f"{kind}.md").read_text("utf-8")))
        for plan, folder in quotes.items()
        for kind in ("quote", "report")
    }


def test_tables_are_tables(plan, quotes, rendered):
    """Every table is read as one, with equally long rows; no row of one is left as a paragraph."""
    for kind in ("quote", "report"):
        page = rendered[f"{plan}/{kind}"]
        assert page.tags["table"] == len(SEPARATOR.findall((quotes[plan] / f"{kind}.md").read_text("utf-8")))
        assert page.tags["table"] > 1
        assert [text for text in page.texts if text.lstrip().startswith("|")] == []
        assert page.tags["h1"] == 1


def test_derivations_are_lists_of_as_many_steps_as_in_the_page(plan, quotes, rendered):
    """Steps of derivations are items of lists, as many as the HTML has; none is read as text or code of another."""
    page = (quotes[plan] / "report.html").read_text("utf-8")
    steps = _Shape(page).items
    cover = page.partition('<dl class="facts">')[2].partition("</dl>")[0]
    assert steps > 20
    assert rendered[f"{plan}/report"].tags["li"] - steps == cover.count("<dt>")
    assert rendered[f"{plan}/report"].tags["pre"] == 0


def test_cells_say_what_the_page_says(plan, quotes, rendered):
    """The numbers in the tables of the page stand in those of the Markdown."""
    page = _Shape((quotes[plan] / "report.html").read_text("utf-8"))
    shown = {cell.strip() for row in page.rows for cell in row if re.fullmatch(r"[\d,]+(?:\.\d+)?", cell.strip())}
    told = {cell.strip() for row in rendered[f"{plan}/report"].rows for cell in row}
    assert shown
    assert shown - told == set()
