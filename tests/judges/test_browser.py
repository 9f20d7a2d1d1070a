"""Chromium prints the quote, asks nobody for anything, and axe finds it readable by everyone."""

from __future__ import annotations

import json
import re
import sys
from decimal import Decimal
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, NamedTuple

import pytest

PRINTED = "llama65b"
PRICED = "llama65b-linkx"
LONG = "meta-24k"
RACKS = "superpod-h100-floor"
COLOURED = (PRICED, RACKS, "deepseek-r1-h20-zh")
"""Quotes that have all that a quote may have between them."""
NUMBERS = ("2026", "2048", "19.78", "1024", "4096")
A4_POINTS = (595.0, 842.0)
MARGIN_POINTS = 48.2
"""The 17 mm that the style sheet leaves at the sides."""
CLOSING = "】）》」』”，。；："
FEW_WORDS = 40
BOX = re.compile(r'<word xMin="([\d.-]+)" yMin="([\d.-]+)" xMax="([\d.-]+)" yMax="([\d.-]+)">(.*?)</word>')
LOADING = {"src", "srcset", "data", "poster", "background", "action", "formaction", "manifest", "ping", "xlink:href"}
"""Attributes whose address a browser fetches; `href` does so only in some elements."""
LOADING_HREF = {"link", "base", "image", "use", "feimage"}
ADDRESS = re.compile(r"(?:https?:)?//|ftp:|wss?:", re.IGNORECASE)


_QUOTED = "plans/llama65b-quote.yaml"
_FOUR = ("plans/h100-127.yaml", "plans/superpod-h100-4su.yaml", f"plans/{PRICED}.yaml", _QUOTED)
_GROWN = ("--set-new", "workload.training.target_days=15")
DIFFERENCES = {
    "comparison": ("compare", *_FOUR),
    "comparison-zh": ("compare", *_FOUR, "--language", "zh"),
    "expansion": ("diff", _QUOTED, _QUOTED, *_GROWN),
    "expansion-zh": ("diff", _QUOTED, _QUOTED, *_GROWN, "--set", "quote.language=zh"),
    "changes": ("diff", f"plans/{PRICED}.yaml", _QUOTED),
    "changes-zh": ("diff", f"plans/{PRICED}.yaml", _QUOTED, "--set", "quote.language=zh"),
}
"""Pages of plans side by side, and of what changed."""
SWITCHES = ("--headless", "--no-sandbox", "--disable-gpu", "--font-render-hinting=none")


class Word(NamedTuple):
    """A printed word and where it stands, in points from the upper left corner."""

    text: str
    left: float
    top: float
    right: float
    bottom: float


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


def _built(folder: Path, run: Any, plan: str, *options: str) -> Path:
    """The folder of what is built of a plan."""
    done = run(sys.executable, "-m", "bomgen", "build", f"plans/{plan}.yaml", "-o", folder, *options)
    assert done.returncode == 0, done.stderr
    return folder / plan.lower()


def _difference(folder: Path, run: Any, name: str, *command: str) -> Path:
    """The page of a comparison of plans."""
    page = folder / f"{name}.html"
    done = run(sys.executable, "-m", "bomgen", *command, "-o", page)
    assert done.returncode == 0, done.stderr
    return page


def _printed(run: Any, chromium: str, place: Path, page: Path) -> Path:
    """A page printed by Chromium."""
    pdf = place / "report.pdf"
    switches = (*SWITCHES, f"--user-data-dir={place / 'profile'}", "--no-pdf-header-footer", f"--print-to-pdf={pdf}")
    done = run(chromium, *switches, page.as_uri())
    assert pdf.is_file(), done.stderr
    return pdf


@pytest.fixture(scope="module")
def printed(quotes, judge, run, tmp_path_factory) -> dict[str, str]:
    """The report as Chromium prints it (`text`, `pages`) and its document after the scripts have run (`dom`)."""
    chromium, pdftotext, pdfinfo = judge("chromium-headless-shell"), judge("pdftotext"), judge("pdfinfo")
    place = tmp_path_factory.mktemp("chromium")
    page = quotes[PRINTED] / "report.html"
    pdf = _printed(run, chromium, place, page)
    switches = (*SWITCHES, f"--user-data-dir={place / 'profile'}")
    shown = run(chromium, *switches, "--virtual-time-budget=3000", "--dump-dom", page.as_uri())
    assert shown.returncode == 0, shown.stderr
    text = run(pdftotext, "-layout", pdf, "-")
    info = run(pdfinfo, "-f", "1", "-l", "9999", pdf)
    return {"text": text.stdout, "pages": info.stdout, "dom": shown.stdout}


@pytest.fixture(scope="module", params=["en", "zh"])
def long_print(request, judge, run, tmp_path_factory) -> list[list[Word]]:
    """The words of every page of a long report, as Chromium prints it, in each language."""
    chromium, pdftotext = judge("chromium-headless-shell"), judge("pdftotext")
    place = tmp_path_factory.mktemp("long")
    options = ("-f", "html", "--set", f"quote.language={request.param}")
    pdf = _printed(run, chromium, place, _built(place, run, LONG, *options) / "report.html")
    boxes = run(pdftotext, "-bbox", pdf, "-").stdout
    return [
        [Word(text, *map(float, place)) for *place, text in BOX.findall(page)] for page in boxes.split("<page ")[1:]
    ]


@pytest.fixture(scope="module")
def visited(quotes, judge, run, tmp_path_factory) -> dict[str, dict]:
    """What axe and the browser's own log say of every quote by plan, and of some in Chinese as PLAN-zh.

    Axe judges some pages (`axe`), which have every kind of element, page and language between them.
    """
    chromium = judge("chromium-headless-shell")
    judge("npm:axe-core")
    judge("npm:playwright-core")
    script = Path(__file__).with_name("visit.cjs")
    place = tmp_path_factory.mktemp("zh")
    chinese = {
        f"{plan}-zh": _built(place, run, plan, "-f", "html", "--set", "quote.language=zh") for plan in (LONG, RACKS)
    }
    folders = {plan: quotes[plan] for plan in COLOURED} | quotes | chinese
    pages = {name: folder / "report.html" for name, folder in folders.items()}
    pages = {f"{PRICED} quote": quotes[PRICED] / "quote.html"} | pages
    pages |= {name: _difference(place, run, name, *command) for name, command in DIFFERENCES.items()}
    pages |= {f"{name} quote": folder / "quote.html" for name, folder in (quotes | chinese).items()}
    environment = {"NODE_PATH": str(judge("npm:axe-core").parent)}
    done = run("node", script, chromium, str(len(COLOURED) + 1), *pages.values(), environment=environment)
    assert done.returncode == 0, done.stderr
    return dict(zip(pages, json.loads(done.stdout), strict=True))


@pytest.fixture(scope="module")
def used(quotes, judge, run) -> dict[str, Any]:
    """What a quote with prices shows after each step of somebody with a keyboard and no mouse."""
    chromium = judge("chromium-headless-shell")
    environment = {"NODE_PATH": str(judge("npm:playwright-core").parent)}
    script = Path(__file__).with_name("use.cjs")
    done = run("node", script, chromium, quotes[PRICED] / "report.html", environment=environment)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


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
    assert _loads((quotes[plan] / "report.html").read_text("utf-8")) == []


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


def _faults(page: dict[str, Any]) -> dict[str, Any]:
    """What a page requests, what of it failed, and what does not fit paper, screen and telephone."""
    return {key: page[key] for key in ("misfits", "clipped", "requests", "errors", "overflow") if page[key]}


def test_no_page_asks_for_anything(plan, visited):
    """Open in a browser a quote requests nothing but itself, and its scripts raise no error."""
    page = visited[plan]
    assert page["requests"] == []
    assert page["errors"] == []


def test_pages_are_accessible(visited):
    """Axe finds nothing, however slight, in pages that have every kind of element, page and language between them."""
    judged = {name: page["axe"] for name, page in visited.items() if "axe" in page}
    assert {name: found for name, found in judged.items() if found} == {}
    assert judged.keys() >= {f"{PRICED} quote", *COLOURED, *DIFFERENCES}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("coloured", COLOURED)
def test_colours_can_be_told_apart(coloured, scheme, visited):
    """Axe finds enough contrast in light and dark, with everything unfolded; all quotes share one style sheet."""
    assert visited[coloured][scheme] == []


def test_pages_fit_a_narrow_screen(plan, visited):
    """On a telephone the page as a whole does not scroll sideways."""
    assert visited[plan]["overflow"] == 0


def test_tables_and_drawings_fit_a_screen(plan, visited):
    """At 1280 pixels nothing has to be scrolled sideways, whatever is unfolded; on a telephone no table has to."""
    assert visited[plan]["clipped"] == []


def test_pages_fit_the_paper(plan, visited):
    """Nothing is wider than an A4 page or its own room, and no word leaves its drawing."""
    assert visited[plan]["misfits"] == []


def test_quotes_are_as_good(plan, visited):
    """A quote requests nothing, and on a telephone every amount is in sight."""
    assert _faults(visited[f"{plan} quote"]) == {}


def test_colours_of_a_quote_can_be_read(visited):
    """Its colours have contrast enough, light and dark."""
    assert [visited[f"{PRICED} quote"][key] for key in ("light", "dark")] == [[], []]


@pytest.mark.parametrize("name", DIFFERENCES)
def test_pages_of_differences_are_as_good(name, visited):
    """Plans side by side and what changed: four plans fit a screen, a sheet of paper and a telephone."""
    assert _faults(visited[name]) == {}


@pytest.mark.parametrize("name", [LONG, RACKS, f"{LONG}-zh quote", f"{RACKS}-zh quote"])
def test_chinese_pages_are_as_good(name, visited):
    """A quote in Chinese fits paper and telephone."""
    assert _faults(visited[name if "zh" in name else f"{name}-zh"]) == {}


def _end_of_ink(word: Word) -> float:
    """Where a word of a page ends; of a full-width closing mark the right half is empty, and may lie in the margin."""
    return word.right - (word.right - word.left) / len(word.text) / 2 if word.text[-1] in CLOSING else word.right


def test_printed_words_stay_between_the_margins(long_print):
    """Every word of a long quote stands between the margins of its page; below them the number of the page alone."""
    left, right = MARGIN_POINTS - 1, A4_POINTS[0] - MARGIN_POINTS + 1
    assert len(long_print) > 10
    outside = [
        (number, word)
        for number, page in enumerate(long_print, 1)
        for word in page
        if word.left < left or _end_of_ink(word) > right or word.top < 0 or word.bottom > A4_POINTS[1]
    ]
    assert outside == []


def test_printed_pages_are_neither_empty_nor_begin_with_a_remainder(long_print):
    """No page but the last holds next to nothing."""
    assert [number for number, page in enumerate(long_print[:-1], 1) if len(page) < FEW_WORDS] == []


def test_the_bill_is_filtered_and_sorted_with_the_keyboard(used):
    """Tab reaches filter and headings with a focus that is seen; typing narrows, Escape clears, Enter sorts."""
    assert [name for name in ("filter", "sorter", "folder", "number") if not used[name]["visible"]] == []
    assert 0 < len(used["filtered"]) < len(used["grouped"])
    assert used["count"] == f"{len(used['filtered'])} of {len(used['grouped'])} lines"
    assert used["cleared"] == used["grouped"]
    ordered = sorted(used["grouped"], key=lambda amount: Decimal(amount.replace(",", "")))
    assert used["ascending"] == {"amounts": ordered, "order": "ascending", "groups": 0}
    assert used["descending"] == {"amounts": ordered[::-1], "order": "descending", "groups": 0}
    assert used["restored"] == {"amounts": used["grouped"], "order": "none", "groups": used["groups"]}


def test_categories_of_the_bill_fold(used):
    """Space on the heading of a category hides its lines and shows them again."""
    assert used["folded"] == used["grouped"][len(used["grouped"]) - len(used["folded"]) :]
    assert len(used["folded"]) < len(used["grouped"])
    assert used["unfolded"] == used["grouped"]


def test_a_number_leads_to_its_derivation_and_back(used):
    """Enter on a number opens its derivation and goes there; the link back goes to the same number."""
    assert used["derivation"]["open"]
    assert used["derivation"]["inside"]
    assert used["derivation"]["name"].startswith("<summary")
    assert used["back"]["name"] == used["number"]["name"]
    assert used["back"]["inside"]


def test_the_page_is_complete_without_scripts(used):
    """Where scripts do not run every line and category stands there, and no tool that would do nothing."""
    assert used["bare"] == {"rows": len(used["grouped"]) + used["groups"], "tools": 0}
