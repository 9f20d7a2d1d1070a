"""The PDF of a quote: pages, fonts, outline and numbers of pages; and what is said where it cannot be made."""

from __future__ import annotations

import builtins
import os
import re
import shutil
import subprocess
import sys
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from judging import Judge

from bomgen.output.pdf import LIMITS, NotPrinted, pdf, print_page

PAGE = b'<!DOCTYPE html><html lang="en"><head><title>Quote</title></head><body><h1>Quote</h1></body></html>'


@pytest.mark.usefixtures("printer")
def test_a_page_is_printed() -> None:
    """The bytes of a PDF come out."""
    printed = pdf(PAGE)
    assert printed.startswith(b"%PDF-")
    assert printed.rstrip().endswith(b"%%EOF")


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize("address", ["https://example.com/picture.png", "file:///etc/hostname"])
def test_nothing_is_fetched(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page that refers to the network or to a file is printed without what it refers to."""
    import urllib.request

    def refuse(*_: Any, **__: Any) -> None:
        raise AssertionError("fetched")

    monkeypatch.setattr(urllib.request.OpenerDirector, "open", refuse)
    page = PAGE.replace(b"<h1>", f'<img src="{address}" alt=""><h1>'.encode())
    assert print_page(page).startswith(b"%PDF-")


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize(
    ("drawings", "pages"),
    [
        (
            '<figure id="drawing-{0}" style="height: {0}mm; break-inside: avoid">drawing {0}</figure>',
            [["table"], ["drawing", "120", "drawing", "60"]],
        ),
        (
            '<figure id="drawing-{0}" style="break-inside: avoid">drawing {0}'
            '<svg viewBox="0 0 150 {0}" style="display: block; width: 150mm"></svg></figure>',
            [["table", "drawing", "120", "drawing", "60"]],
        ),
    ],
)
def test_drawings_keep_each_other_company(drawings: str, pages: list[list[str]], judge: Judge, tmp_path: Path) -> None:
    """A second drawing that would stand alone on a nearly empty page stands with the first, smaller if that helps."""
    blocks = "".join(drawings.format(height) for height in (120, 60))
    table = f'<div id="table-site" style="height: {130 if len(pages) > 1 else 110}mm">table</div>'
    style = "<style>@page { size: A4; margin: 15mm } body, figure { margin: 0 }</style>"
    cover = '<div style="break-after: page">cover</div>'
    page = f"<!doctype html><html lang=en>{style}{cover}<section>{table}{blocks}</section>"
    (tmp_path / "page.pdf").write_bytes(print_page(page.encode()))
    text = subprocess.run([judge("pdftotext"), tmp_path / "page.pdf", "-"], capture_output=True, text=True, check=True)
    assert [page.split() for page in text.stdout.split("\f") if page] == [["cover"], *pages]


@pytest.mark.usefixtures("printer")
def test_a_logo_that_cannot_be_drawn_is_said() -> None:
    """WeasyPrint leaves out a picture whose drawing fails, by any error: a quote without its logo is no quote."""
    svg = "<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'><g id='a'><use href='#a'/></g></svg>"
    with pytest.raises(NotPrinted, match="the logo cannot be drawn"):
        print_page(_with_picture(svg))


@pytest.mark.usefixtures("printer")
def test_a_logo_that_takes_for_ever_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three kilobytes that draw a rectangle 10^13 times: the child ends, and one line says so."""
    monkeypatch.setattr("bomgen.output.pdf.LIMITS", LIMITS._replace(wall_seconds=3))
    uses = "".join(f"<g id='a{n}'>" + f"<use href='#a{n - 1}'/>" * 10 + "</g>" for n in range(1, 14))
    drawn = f"<defs><g id='a0'><rect width='1' height='1'/></g>{uses}</defs><use href='#a13'/>"
    with pytest.raises(NotPrinted, match="not finished after 3 s"):
        pdf(_with_picture(f"<svg xmlns='http://www.w3.org/2000/svg' width='9' height='9'>{drawn}</svg>"))


def _with_picture(svg: str) -> bytes:
    picture = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    return PAGE.replace(b"<h1>", f'<img src="{picture}" alt=""><h1>'.encode())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            ImportError("No module named 'weasyprint'"),
            "PDF output requires WeasyPrint, which is not installed: pip install weasyprint",
        ),
        (
            OSError("cannot load library 'libgobject-2.0-0': No such file or directory.\nAdditionally, ..."),
            "PDF output requires Pango, which is not installed: apt-get install libpango-1.0-0 libpangoft2-1.0-0 "
            "libharfbuzz-subset0",
        ),
    ],
)
def test_what_is_missing_is_said(
    error: Exception, words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without WeasyPrint, or without the library that it draws text with, one line says what to install."""
    load = builtins.__import__

    def fail(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("weasyprint"):
            print("WeasyPrint could not import some external libraries.")  # as it does
            raise error
        return load(name, *arguments, **named)

    for name in [name for name in sys.modules if name.partition(".")[0] == "weasyprint"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", fail)
    with pytest.raises(NotPrinted, match=f"^{re.escape(words)}$"):
        print_page(PAGE)
    assert capsys.readouterr().out == ""


FONTS_ALONE = """<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}</dir><cachedir>{folder}/cache</cachedir></fontconfig>"""
PRINT = """
import sys
from bomgen.output.pdf import LIMITS, NotPrinted, pdf
try:
    print(len(pdf(sys.argv[1].encode())) > 0)
except NotPrinted as error:
    print(error)
"""


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Quote – 4 µm, ½ Ω", "True"),
        ("训练集群", "no installed font has 训 练 集 群; install one, such as the package fonts-noto-cjk"),
        (
            "訓練クラスターの見積書 x",
            "no installed font has 訓 練 ク ラ ス and 6 more; install one, such as the package fonts-noto-cjk",
        ),
        ("ꦗ", "no installed font has ꦗ; install one, such as the package fonts-noto-core"),
    ],
)
def test_characters_without_a_font(text: str, said: str, tmp_path: Path, judge: Judge) -> None:
    """A quote of empty boxes is no quote: the message names characters and package."""
    found = subprocess.run(
        [judge("fc-match"), "-f", "%{file}", "DejaVu Sans"], capture_output=True, text=True, check=True
    )
    shutil.copy(found.stdout, tmp_path)
    assert _print_apart(text, tmp_path) == said


@pytest.mark.usefixtures("printer")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Quote for Łódź, 2 × 10⁻⁴ ± 3 % ≥ 1 €", "True"),
        ("训", "no installed font has 训; install one, such as the package fonts-noto-cjk"),
    ],
)
def test_a_machine_without_fonts(text: str, said: str, tmp_path: Path) -> None:
    """What the bundled face has is printed; of anything else the message names the package."""
    assert _print_apart(text, tmp_path) == said


def _print_apart(text: str, fonts: Path) -> str:
    """Return what is said of a page with a text, printed in a process that has the fonts of a folder alone."""
    (fonts / "fonts.conf").write_text(FONTS_ALONE.format(folder=fonts), encoding="utf-8")
    environment = {**os.environ, "FONTCONFIG_FILE": str(fonts / "fonts.conf"), "PYTHONIOENCODING": "utf-8"}
    page = PAGE.decode().replace("<h1>Quote", f"<h1>{text}")
    command = [sys.executable, "-c", PRINT, page]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=True, env=environment)
    return done.stdout.strip()
