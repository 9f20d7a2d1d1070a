"""The documentation as a site: built strictly, whole, without dead links, and without anything from elsewhere."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import written
from judging import Judge
from processor import PATIENCE

CHECKOUT = Path(__file__).parents[2]
MARKED = re.compile(r"<mark[^>]*>(.*?)</mark>")
LOADED = {"script": "src", "img": "src", "link": "href", "iframe": "src", "source": "src"}
"""Attributes that make a browser load something."""
NOT_LOADED = ("canonical", "next", "prev", "alternate")
"""Kinds of `link` that only name a page."""


class Page(HTMLParser):
    """The anchors of a page, what it links to and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.language = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is, links to, or loads."""
        given = {name: value or "" for name, value in attrs}
        self.anchors |= {given[name] for name in ("id", "name") if given.get(name)}
        if tag == "html":
            self.language = given.get("lang", "")
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if LOADED.get(tag) in given and given.get("rel") not in NOT_LOADED:
            self.loaded.append(given[LOADED[tag]])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, judge: Judge) -> Path:
    """The built site. Without MkDocs the tests are skipped, and fail on a continuous-integration machine."""
    judge("python:material")
    judge("python:jieba")
    place = tmp_path_factory.mktemp("site") / "built"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", place],
        capture_output=True,
        text=True,
        check=False,
        cwd=CHECKOUT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    return place


@pytest.fixture(scope="session")
def pages(site: Path) -> dict[Path, Page]:
    """Every page of the site."""
    return {path: Page(path.read_text("utf-8")) for path in sorted(site.rglob("*.html"))}


def test_every_page_is_there(site: Path) -> None:
    """Those that are kept and those that are written, in both languages, and a search index that knows them."""
    kept = [path.relative_to(CHECKOUT / "docs") for path in (CHECKOUT / "docs").rglob("*.md")]
    wanted = {path.with_suffix(".html").as_posix() for path in (*kept, *map(Path, dict(written.pages())))}
    found = {path.relative_to(site).as_posix() for path in site.rglob("*.html")}
    assert wanted <= found
    assert {"index.html", "zh/index.html", "tutorial.html", "zh/tutorial.html", "catalog/switch.html"} <= found
    index = json.loads((site / "search" / "search_index.json").read_text("utf-8"))
    places = {entry["location"].partition("#")[0] for entry in index["docs"]}
    import hooks  # which needs MkDocs

    evidence = {Path(page).with_suffix(".html").as_posix() for page in hooks.EVIDENCE}
    assert wanted - places == evidence


def test_links_of_the_site_lead_somewhere(site: Path, pages: dict[Path, Page]) -> None:
    """To a file of the site, and to an element of it; those that lead out are whole addresses."""
    wrong = []
    for path, page in pages.items():
        if path.name == "404.html":
            continue  # it is shown at any address, and links from the top
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                wrong += [] if parts.scheme in ("http", "https", "mailto") else [f"{path.name}: {link}"]
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            there = target.is_file() and target.is_relative_to(site)
            anchored = not parts.fragment or (target in pages and unquote(parts.fragment) in pages[target].anchors)
            wrong += [] if there and anchored else [f"{path.relative_to(site)}: {link}"]
    assert wrong == []


def test_nothing_comes_from_elsewhere(pages: dict[Path, Page]) -> None:
    """No script, style, font or picture is loaded from another machine."""
    assert [f"{path.name}: {each}" for path, page in pages.items() for each in page.loaded if "//" in each] == []


def test_pages_say_their_language(site: Path, pages: dict[Path, Page]) -> None:
    """Chinese pages are marked as such."""
    assert {page.language for path, page in pages.items() if path.parent == site / "zh"} == {"zh"}
    assert pages[site / "tutorial.html"].language == "en"


def test_the_search_knows_chinese_words_and_leaves_the_name_of_the_program_alone(site: Path, judge: Judge) -> None:
    """Asked by the site's own worker: "价格" finds Chinese pages, and "BOM" marks no "bomgen"."""
    queries = ("价格", "交换机", "BOM", "bomgen wiring")
    done = subprocess.run(
        [judge("node"), CHECKOUT / "tests" / "search.js", site, *queries],
        capture_output=True,
        check=True,
        timeout=PATIENCE,
    )
    found = json.loads(done.stdout)
    for query in queries[:2]:
        assert {entry["location"].split("/")[0] for entry in found[query]} == {"zh"}
        assert marked(found[query]) >= {query}
    assert "BOM" in marked(found["BOM"])
    assert "bomgen" not in marked(found["BOM"])
    assert found["bomgen wiring"][0]["location"].startswith("wiring.html")


def test_the_search_works_from_disk(site: Path, judge: Judge, tmp_path: Path) -> None:
    """A browser that opens a file of the site, without a server, finds the page about wiring."""
    switches = ("--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}", "--virtual-time-budget=20000")
    done = subprocess.run(
        [judge("chromium-headless-shell"), *switches, "--dump-dom", f"{(site / 'index.html').as_uri()}?q=wiring"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    assert "wiring.html" in done.stdout.partition("md-search-result__list")[2].partition("</ol>")[0]


def marked(entries: list[dict[str, str]]) -> set[str]:
    """The words that the search marks."""
    return {word for entry in entries for word in MARKED.findall(entry["title"] + entry["text"])}
