"""Chromium prints the quote, asks nobody for anything, and axe finds it readable by everyone."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

PRINTED = "llama65b"
NUMBERS = ("2026", "2048", "19.78", "1024", "4096")
A4_POINTS = (595.0, 842.0)
LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "ping", "xlink:href"}
"""Attributes whose address a browser fetches; `href` does so only in some elements."""
LOADING_HREF = {"link", "base", "image", "use", "feimage"}
ADDRESS = re.compile(r"(?:https?:)?//|ftp:|wss?:", re.IGNORECASE)


class _Loads(HTMLParser):
    """Collects what a page would fetch from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self.inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Look at the attributes of an element, its style among them."""
        self.inside = tag if tag in ("style", "script") else ""
        for name, value in attrs:
            loads = name in LOADING or (name == "href" and tag in LOADING_HREF)
            if loads and ADDRESS.match((value or "").strip()):
                self.found.append(f"<{tag} {name}={value}>")
            if name == "style" or (value or "").lstrip().startswith("url("):
                self._look_at_css(value or "")

    def handle_data(self, data: str) -> None:
        """Look at a style sheet or a script."""
        if self.inside == "style":
            self._look_at_css(data)
        elif self.inside == "script":
            calls = r"\b(?:fetch|XMLHttpRequest|WebSocket|EventSource|sendBeacon|importScripts|import)\s*\("
            self.found += re.findall(calls, data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet or a script."""
        if tag == self.inside:
            self.inside = ""

    def _look_at_css(self, text: str) -> None:
        for address in re.findall(r"(?:url\(|@import\s+)\s*['\"]?([^'\")\s;]+)", text):
            if ADDRESS.match(address):
                self.found.append(f"css {address}")


def _loads(text: str) -> list[str]:
    parser = _Loads()
    parser.feed(text)
    parser.close()
    return parser.found


@pytest.fixture(scope="module")
def printed(quotes, judge, run, tmp_path_factory) -> dict[str, str]:
    """The quote as Chromium prints it (`text`, `pages`) and its document after the scripts have run (`dom`)."""
    chromium, pdftotext, pdfinfo = judge("chromium"), judge("pdftotext"), judge("pdfinfo")
    place = tmp_path_factory.mktemp("chromium")
    switches = (
        *("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
        *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions"),
        *(
            "--host-resolver-rules=MAP * ~NOTFOUND",
            f"--user-data-dir={place / 'profile'}",
            "--virtual-time-budget=3000",
        ),
    )
    page = (quotes[PRINTED] / "quote.html").as_uri()
    pdf = place / "quote.pdf"
    done = run(chromium, *switches, "--no-pdf-header-footer", f"--print-to-pdf={pdf}", page)
    assert done.returncode == 0, done.stderr
    assert pdf.exists(), done.stderr
    shown = run(chromium, *switches, "--dump-dom", page)
    assert shown.returncode == 0, shown.stderr
    text = run(pdftotext, "-layout", pdf, "-")
    info = run(pdfinfo, "-f", "1", "-l", "9999", pdf)
    return {"text": text.stdout, "pages": info.stdout, "dom": shown.stdout}


@pytest.fixture(scope="module")
def visited(quotes, judge, run) -> dict[str, dict]:
    """What axe and the browser's own log say of every quote, light and dark, by plan."""
    chromium = judge("chromium")
    judge("npm:axe-core")
    judge("npm:playwright-core")
    script = Path(__file__).with_name("visit.cjs")
    pages = [folder / "quote.html" for folder in quotes.values()]
    done = run("node", script, chromium, *pages, environment={"NODE_PATH": str(judge("npm:axe-core").parent)})
    assert done.returncode == 0, done.stderr
    return dict(zip(quotes, json.loads(done.stdout), strict=True))


def test_printed_quote_holds_the_numbers(printed):
    """The numbers of the published calculation stand in the printed quote."""
    plain = re.sub(r"(?<=\d)[,\u2009\u202f\u00a0](?=\d{3}\b)", "", printed["text"])
    assert [number for number in NUMBERS if not re.search(rf"(?<![\d.]){re.escape(number)}(?!\d)", plain)] == []


def test_printed_pages_are_a4(printed):
    """Every printed page is A4, upright or across."""
    sizes = re.findall(r"^Page\s+\d+ size:\s+([\d.]+) x ([\d.]+) pts", printed["pages"], re.MULTILINE)
    assert sizes, printed["pages"]
    for size in sizes:
        assert sorted(map(float, size)) == pytest.approx(A4_POINTS, abs=1.5)


def test_page_names_nothing_to_fetch(plan, quotes):
    """No element, style sheet or script of a quote names an address that a browser would fetch."""
    assert _loads((quotes[plan] / "quote.html").read_text("utf-8")) == []


def test_shown_page_names_nothing_to_fetch(printed):
    """Nor does the page after its scripts have run."""
    assert "</html>" in printed["dom"]
    assert _loads(printed["dom"]) == []


def test_the_search_for_addresses_finds_them():
    """Addresses that load are found in attributes, style sheets and scripts; a plain link is none of them."""
    page = (
        '<img src="//a.example/x.png"><link href="https://b.example/x.css"><style>@import "http://c.example/x";'
        ' p {background: url(https://d.example/x)}</style><p style="background: url(//e.example/x)">'
        '<script>fetch("x")</script><svg><image xlink:href="http://f.example/x"/></svg><a href="https://g.example">g</a>'
    )
    assert len(_loads(page)) == 7


def test_no_page_asks_for_anything(plan, visited):
    """Open in a browser a quote requests nothing but itself, and its scripts raise no error."""
    page = visited[plan]
    assert page["requests"] == []
    assert page["errors"] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_are_accessible(plan, scheme, visited):
    """Axe finds nothing serious or critical in a quote, in light or dark colours."""
    assert visited[plan][scheme] == []


def test_pages_fit_a_narrow_screen(plan, visited):
    """On a telephone the page as a whole does not scroll sideways."""
    assert visited[plan]["overflow"] == 0
