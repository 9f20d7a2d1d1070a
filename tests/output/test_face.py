"""The bundled typeface: what it has, and that it alone decides where the lines of a document break."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from unicodedata import category, east_asian_width

import pytest

from bomgen.core.language import language
from bomgen.core.resources import folder
from bomgen.output.drawing.canvas import Canvas
from bomgen.output.face import BOLD, REGULAR, face_folder, face_rules, width_in_ems
from bomgen.output.pdf import pdf
from bomgen.workflow.library import build

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").glob("*.yaml"))
MOST_BYTES = 150_000
PRINT = "import sys; from bomgen.output.pdf import pdf; sys.stdout.buffer.write(pdf(sys.stdin.buffer.read()))"
FONTS = '<!DOCTYPE fontconfig SYSTEM "fonts.dtd"><fontconfig><dir>{0}</dir><cachedir>{0}/cache</cachedir></fontconfig>'


def test_two_weights_with_their_licence() -> None:
    """The fonts are small enough for every document, and the licence that it has to come with lies beside them."""
    assert sum(path.stat().st_size for path in face_folder().glob("*.woff2")) <= MOST_BYTES
    assert "SIL OPEN FONT LICENSE Version 1.1" in (face_folder() / "OFL.txt").read_text("utf-8")


@pytest.mark.parametrize("weight", [REGULAR, BOLD])
def test_widths_are_those_of_the_font(weight: int) -> None:
    """Text is measured with the advance widths of the font that it is set in."""
    from face import EM, widths

    for character, width in widths(str(weight)).items():
        assert width_in_ems(character, weight == BOLD) == width / EM
    assert width_in_ems("训", weight == BOLD) == 1


def _lacking(text: str) -> set[str]:
    """The characters that the face lacks, apart from Chinese ones and control characters."""
    known = json.loads((face_folder() / "widths.json").read_text("utf-8"))[str(REGULAR)]
    other = {each for each in text if each not in known}
    return {each for each in other if east_asian_width(each) not in "WF" and category(each) != "Cc"}


def test_the_face_has_the_words_of_the_program() -> None:
    """No sentence of the documents and of the page needs a second font."""
    page = ROOT / "bomgen" / "serve" / "page"
    files = [*(folder("data") / "language").glob("*.yaml"), *folder("templates").glob("*.*"), *page.glob("*.html")]
    files += [path for path in page.rglob("*.js") if path.name != "editor.js"]
    assert {path.name: lacking for path in files if (lacking := _lacking(path.read_text("utf-8")))} == {}
    assert not _lacking("−–—“”‘’…→↔≤≥±·•×µμΩ²³°€£¥½™ĄąČčĞğŁłŐőŞşŽžßÆæØøÅåÞþ")


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_the_face_has_the_documents_of_the_plans(plan: Path) -> None:
    """Quote and report of each example are set in the face alone, but for Chinese."""
    files = build(plan).files("quote.html", "report.html")
    assert not _lacking(html.unescape("".join(content.decode() for content in files.values())))


def _print_apart(page: bytes, fonts: Path) -> list[str]:
    """The text of each page of a PDF, line by line, printed in a process that knows the fonts of a folder alone."""
    import pdfplumber

    (fonts / "fonts.conf").write_text(FONTS.format(fonts), encoding="utf-8")
    environment = {**os.environ, "FONTCONFIG_FILE": str(fonts / "fonts.conf")}
    done = subprocess.run([sys.executable, "-c", PRINT], input=page, capture_output=True, check=False, env=environment)
    assert not done.stderr
    with pdfplumber.open(BytesIO(done.stdout)) as printed:
        return [each.extract_text() for each in printed.pages]


@pytest.mark.deep
@pytest.mark.usefixtures("printer")
def test_lines_break_alike_whatever_fonts_are_installed(tmp_path: Path) -> None:
    """A quote has the same lines on the same pages without any font, and with an Inter of letters twice as wide."""
    from fontTools.ttLib import TTFont

    (tmp_path / "none").mkdir()
    (tmp_path / "wide").mkdir()
    for weight in (REGULAR, BOLD):
        font = TTFont(face_folder() / f"inter-{weight}.woff2")
        font.flavor = None
        for glyph, (advance, bearing) in font["hmtx"].metrics.items():
            font["hmtx"].metrics[glyph] = (2 * advance, bearing)
        font.save(tmp_path / "wide" / f"{weight}.ttf")
    page = build(ROOT / "plans" / "llama65b-quote.yaml").files("quote.html")["quote.html"]
    without = _print_apart(page, tmp_path / "none")
    assert _print_apart(page, tmp_path / "wide") == without


@pytest.mark.usefixtures("chinese_printer")
def test_a_chinese_quote_has_one_chinese_face() -> None:
    """The letters of its drawings come from the same face as those of its text, which is that of its language."""
    import pdfplumber

    printed = pdf(build(ROOT / "plans" / "a100-32-zh.yaml").files("quote.html")["quote.html"])
    with pdfplumber.open(BytesIO(printed)) as opened:
        names = {each["fontname"].partition("+")[2] for page in opened.pages for each in page.chars}
    chinese = {name.removesuffix("-Bold") for name in names if not name.startswith("Inter-Bundled")}
    assert len(chinese) == 1
    assert not [name for name in chinese if name.endswith(("-JP", "-KR"))]


@pytest.mark.parametrize(("code", "tag"), [("en", "en"), ("zh", "zh-CN")])
def test_a_drawing_names_its_language_and_the_face(code: str, tag: str) -> None:
    """A browser and WeasyPrint then take Chinese letters from a Chinese face, and all others from Inter."""
    svg = Canvas().text("name", "title", language(code), alone=True)
    assert f' lang="{tag}" ' in svg
    assert re.search(r'''font-family="'Inter Bundled',Inter,'Noto Sans SC',[^"]*sans-serif"''', svg)


def test_a_document_carries_the_face() -> None:
    """One by itself needs no other file; one in the page of `bomgen serve` takes the copy that the page has."""
    page = build(ROOT / "plans" / "llama65b.yaml").files("quote.html")["quote.html"].decode()
    assert page.count(face_rules(True)) == 1
    assert "font-src data:" in page
    assert re.findall(r"url\(([^)]*)\)", face_rules(False)) == ["inter-400.woff2", "inter-600.woff2"]
