"""Markdown and HTML: hostile text stays text, links have targets, and both show what the document says."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from bomgen.core.document import Cell, Column, Derivation, Document, Drawing, Note, Row, Section, Step, Table
from bomgen.core.language import language
from bomgen.core.units import Tax, Totals
from bomgen.documents.tables import sums_of
from bomgen.output import markdown_html as text

ENGLISH = language("en")
HOSTILE = '<b>x</b> | `y` *z* _q_ [l](javascript:alert(1)) &lt; $m$ ~s~\n# "q"\x00 \u202e{{ 7*7 }}'
PATH = "fabrics.compute.switches.leaf"
ODD_PATH = "fabrics.my fabric/é.switches.leaf"
VOID = {"meta", "br", "wbr", "hr", "img", "link", "input", "rect", "line"}
COLUMNS = (
    Column("fabric", "Fabric", "text", 12),
    Column("category", "Category", "text", 12),
    Column("sku", "Part number", "text", 26),
    Column("description", "Description", "text", 44),
    Column("quantity", "Quantity", "number", 10),
    Column("unit_price", "Unit price", "money", 14),
    Column("discount", "Discount", "share", 10),
    Column("amount", "Amount", "money", 16),
    Column("explain", "Why", "text", 50),
)


def _line(description: str, quantity: int, price: Decimal | None, why: str | None, group: str) -> Row:
    cells = (Cell("compute"), Cell("switch"), Cell("QM9700"), Cell(description), Cell(quantity, "", why))
    money = (Cell(price, "USD"), Cell(Fraction(3, 20), "share"), Cell(price, "USD"))
    return Row((*cells, *money, Cell("leaves = ceil(a / b)")), group)


def _derivation(path: str, origin: str = "ceil(nic_ports / down)") -> Derivation:
    steps = (
        Step(0, "leaves", 32, "switches", origin),
        Step(1, "nic_ports", 10240, "endpoints", "plan.yaml:7:10"),
        Step(4, "too_deep", None, "ports", ""),
        Step(1, "down", 32, "ports", "radix - up"),
    )
    return Derivation(path, "Leaf switches", steps)


def _document(hostile: str = "Leaf switch", complete: bool = True, priced: int = 2) -> Document:
    rows = (
        _line(hostile, 32, Decimal("25000.00"), PATH, "Switches"),
        _line("Spine", 16384, Decimal("1.50") if complete else None, ODD_PATH, "Switches"),
        _line("No derivation", 3, Decimal("1.50"), "nowhere", hostile),
    )
    sources = Table(
        "sources",
        hostile,
        (Column("title", "Document"), Column("url", "Address")),
        (Row((Cell(hostile), Cell("https://example.org/a_b?c=1&d=2"))), Row((Cell("x"), Cell("javascript:alert(1)")))),
        hostile,
    )
    svg = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>'
    sections = (
        Section("summary", hostile, (hostile, "- no list", "1. no list"), (), (Note("warning", hostile, hostile),)),
        Section("network", "Network", drawings=(Drawing("compute", hostile, svg, hostile),)),
        Section("bill", "Bill of materials", tables=(Table("bill", "Bill of materials", COLUMNS, rows),)),
        Section("sources", "Sources", tables=(sources,)),
        Section("derivations", "Derivations", derivations=(_derivation(PATH, hostile), _derivation(ODD_PATH))),
    )
    list_price, discount, tax = Decimal("825000"), Decimal("123750"), Decimal("91162.5")
    totals = Totals(
        "USD",
        complete,
        list_price,
        discount,
        (Tax(Fraction(13, 100), list_price - discount, tax),),
        Decimal("792412.5"),
        priced,
        3,
    )
    headline = (("GPUs", Cell(2048, "GPUs", PATH)), ("Total", Cell(Decimal("792412.5"), "USD")))
    document = Document(hostile, "en", sections, hostile, (("Customer", hostile),), headline, totals, hostile)
    return replace(document, sums=sums_of(totals, (), None, language("en")))


class _Page(HTMLParser):
    """Reads a page: refuses tags that are not closed in order, and keeps ids, links, tags and text."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: Counter[str] = Counter()
        self.links: list[str] = []
        self.tags: Counter[str] = Counter()
        self.words: list[str] = []
        self.attributes: Counter[str] = Counter()
        self.feed(page.decode("utf-8"))
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags[tag] += 1
        self.attributes.update(name for name, _ in attrs)
        found = dict(attrs)
        if found.get("id"):
            self.ids[found["id"] or ""] += 1
        if tag == "a":
            self.links.append(found["href"] or "")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())


def _html(document: Document, code: str = "en") -> _Page:
    return _Page(text.html(document, language(code)))


def _markdown(document: Document, code: str = "en") -> str:
    return text.markdown(document, language(code)).decode("utf-8")


def _rows(markdown: str) -> list[list[str]]:
    """The cells of all table rows, split at pipes that are not escaped."""
    return [re.split(r"(?<!\\)\|", line)[1:-1] for line in markdown.splitlines() if line.startswith("|")]


def test_html_keeps_hostile_text_as_text() -> None:
    """Markup in a document is shown as it is written; its warning has one piece of code, between backticks."""
    plain, hostile = _html(_document()), _html(_document(HOSTILE))
    assert hostile.tags == plain.tags + Counter(code=1)
    assert hostile.attributes == plain.attributes
    assert '<b>x</b> | `y` *z* _q_ [l](javascript:alert(1)) &lt; $m$ ~s~ # "q" {{ 7*7 }}' in hostile.text
    assert not set(hostile.text) & {"\x00", "\u202e"}


def test_html_links_only_to_addresses_and_to_itself() -> None:
    """Only web addresses become links out of the page, and nothing is loaded from anywhere."""
    page = _html(_document(HOSTILE))
    assert {link for link in page.links if not link.startswith("#")} == {"https://example.org/a_b?c=1&d=2"}
    assert not set(page.tags) & {"img", "link", "iframe"}
    assert not set(page.attributes) & {"src", "style", "onclick"}


def test_documents_are_links_where_they_have_a_web_address() -> None:
    """A document is a link by its title if its address is of the web; others, and attempts to leave it, are text."""
    documents = (
        ("Data sheet `a_b` <i>", "https://example.org/a_b?c=1&d=2"),
        ("Script", "javascript:alert(1)"),
        ("Quote", 'https://example.org/" onclick="x'),
        ("Bracket", "https://example.org/>](javascript:x)"),
        ("Book", ""),
    )
    table = Table("t", "T", (Column("source", "Source"),), (Row((Cell("all of them", documents=documents),)),))
    page = _html(Document("x", "en", (Section("s", "S", tables=(table,)),)))
    assert page.links == ["#content", "https://example.org/a_b?c=1&d=2"]
    assert "Data sheet a_b <i>; Script; Quote; Bracket; Book" in page.text
    assert page.attributes["onclick"] == 0
    [row] = [
        row for row in _rows(_markdown(Document("x", "en", (Section("s", "S", tables=(table,)),)))) if "Book" in row[0]
    ]
    assert row == [" [Data sheet `a_b` &lt;i&gt;](<https://example.org/a_b?c=1&d=2>); Script; Quote; Bracket; Book "]


def test_backticks_are_code_in_messages_only() -> None:
    """In a column and a caption of messages; a text of a plan keeps them."""
    columns = (Column("name", "Name"), Column("why", "Why", code=True))
    rows = (Row((Cell("`x`"), Cell("set `a: 1` | b"))), Row((Cell("y"), Cell("set `a: 1`"))))
    document = Document("x", "en", (Section("s", "S", tables=(Table("t", "T", columns, rows, "see `c`", code=True),)),))
    page = _html(document)
    assert page.tags["code"] == 3
    assert "`x`" in page.text
    assert _markdown(document).count("`a: 1`") == 1
    assert "see `c`" in _markdown(document)


def test_every_link_has_its_target() -> None:
    """Every link within the page leads to one place; a number is linked only when its derivation is there."""
    page = _html(_document())
    inner = [link[1:] for link in page.links if link.startswith("#")]
    assert set(inner) <= set(page.ids)
    assert set(page.ids.values()) == {1}
    assert [link for link in inner if link.startswith("why-")] == [
        f"why-{text.slug(path)}" for path in (PATH, PATH, ODD_PATH)
    ]


def test_slugs_differ_when_paths_do() -> None:
    """Different paths never share an id, and no id has a space."""
    paths = ["a.b", "a b", "a-b", "a_b", "a~b", "a~20~b", "a/b", "é"]
    slugs = {text.slug(path) for path in paths}
    assert len(slugs) == len(paths)
    assert all(re.fullmatch(r"[A-Za-z0-9._~-]+", slug) for slug in slugs)


def test_security_policy_names_the_style_and_script_of_the_page() -> None:
    """The hashes of the policy are those of the style and script between the tags."""
    page = text.html(_document(), ENGLISH).decode("utf-8")
    for tag in ("style", "script"):
        content = re.search(f"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        assert content is not None
        digest = b64encode(sha256(content[1].encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page


def test_markdown_keeps_hostile_text_as_text() -> None:
    """No HTML, no markup and no line break of a document gets into the Markdown, outside code spans."""
    hostile = _markdown(_document(HOSTILE))
    outside = re.sub(r"(`+) ?.*?(?<!`)\1(?!`)", "", re.sub(r"\\`", "", hostile))
    assert "<b>" not in outside
    assert not re.search(r"(?<!\\)\[l\]", outside)
    assert not re.search(r"^(# \"q\"|- no list|1\. no list)", hostile, re.MULTILINE)
    assert r"\| \`y\` \*z\* \_q\_ \[l\](javascript:alert(1)) &amp;lt; &#36;m&#36; \~s\~ \#" in hostile
    assert len(hostile.splitlines()) == len(_markdown(_document()).splitlines())


def test_markdown_tables_are_rectangular() -> None:
    """Every row of a table has as many cells as its heading, whatever the text in it."""
    markdown = _markdown(_document(HOSTILE))
    bill = [row for row in _rows(markdown) if len(row) == len(COLUMNS)]
    assert len(bill) == 2 + 2 + 3
    assert bill[1] == [":---", ":---", ":---", ":---", "---:", "---:", "---:", "---:", ":---"]
    assert {len(row) for row in _rows(markdown)} == {2, len(COLUMNS)}


def test_numbers_of_both_formats() -> None:
    """Both formats show every number of the bill and the totals in the same writing."""
    document = _document()
    for shown in (_markdown(document), _html(document).text):
        for number in ("16,384", "25,000.00", "15 %", "825,000.00 USD", "123,750.00 USD", "792,412.50 USD", "10,240"):
            assert number in shown
        assert "at least" not in shown
        assert "no price" not in shown


def test_incomplete_totals_are_a_lower_bound() -> None:
    """With a price missing, the total is 'at least' on the cover and under the bill, and the line is marked."""
    document = _document(complete=False)
    for shown in (_markdown(document), _html(document).text):
        assert shown.count("at least 792,412.50 USD") == 3
        assert "1 of 3 lines are not priced" in shown
        assert shown.count("– no price") == 2


def test_no_total_without_prices() -> None:
    """A bill without any price has no totals, but says so."""
    document = _document(complete=False, priced=0)
    for shown in (_markdown(document), _html(document).text):
        assert "None of the 3 lines has a price" in shown
        assert "825,000.00" not in shown


def test_derivations_are_nested_lists() -> None:
    """Steps are nested by depth, never by more than one level, and formulas are code."""
    markdown = _markdown(_document())
    assert "- **leaves** = 32 switches – `ceil(nic_ports / down)`\n  - **nic_ports** = 10,240 endpoints" in markdown
    assert "\n    - **too_deep** = –\n  - **down**" in markdown
    assert _html(_document()).tags["li"] == 5 + 2 * 4


@pytest.mark.parametrize("code_text", ["a", "`", "a``b", "a < b"])
def test_code_spans(code_text: str) -> None:
    """A code span holds any text, backticks too."""
    document = replace(_document(), sections=(Section("d", "D", derivations=(_derivation(PATH, code_text),)),))
    span = re.search(r"switches – (`+) ?(.+?) ?\1\n", _markdown(document))
    assert span is not None
    assert span[2] == code_text
    assert span[1] not in code_text


def test_a_wide_table_stacks_its_texts_in_html() -> None:
    """A table too wide for a page shows the texts of a row below each other, beside its numbers."""
    page = text.html(_document(), ENGLISH).decode("utf-8")
    assert '<th scope="col" class="stack">Part number · Description</th><th scope="col" class="number">' in page
    assert '<span class="name">QM9700</span><span class="detail">Leaf switch</span><span class="place">' in page


@pytest.mark.parametrize("code", ["en", "zh"])
def test_pages_are_complete_in_every_language(code: str) -> None:
    """Both formats can be written in every language, twice to the same bytes."""
    document = replace(_document(complete=False), language=code)
    assert text.html(document, language(code)) == text.html(document, language(code))
    assert text.markdown(document, language(code)) == text.markdown(document, language(code))
    assert _html(document, code).tags["table"] == 2


def test_empty_document() -> None:
    """A document with nothing in it is still a page."""
    empty = replace(_document(), subtitle="", facts=(), headline=(), sections=())
    assert _html(empty).tags["h1"] == 1
    assert _markdown(empty).startswith("# Leaf switch\n")


def test_units_are_shown_once() -> None:
    """A column of units is left out where the numbers have theirs beside them, and kept where they do not."""
    columns = (Column("name", "Name"), Column("value", "Value", "number"), Column("unit", "Unit"))
    for unit, titles in (("days", 2), ("", 3)):
        table = Table("sizing", "Sizing", columns, (Row((Cell("Days"), Cell(20, unit), Cell("days"))),))
        document = replace(_document(), headline=(), sections=(Section("sizing", "Sizing", tables=(table,)),))
        assert len(_rows(_markdown(document))[0]) == titles
        assert _html(document).tags["td"] == titles


def test_tables_without_rows_are_left_out() -> None:
    """A table without rows is not shown."""
    document = replace(_document(), sections=(Section("bill", "Bill", tables=(Table("bill", "Bill", COLUMNS, ()),)),))
    assert _html(document).tags["table"] == 0


def _page_of(*tables: Table, section: str = "sizing") -> str:
    document = replace(_document(), sections=(Section(section, "Sizing", tables=tables),))
    return text.html(document, ENGLISH).decode("utf-8")


def _numbered(count: int) -> Table:
    rows = tuple(Row((Cell(f"row {number}"), Cell(number))) for number in range(count))
    return Table("long", "Many rows", (Column("name", "Name"), Column("value", "Value", "number")), rows, "A caption.")


def test_long_tables_are_folded_away_and_complete() -> None:
    """A table of many rows is inside a fold that says how many; a short one, and the bill, are not."""
    long = _page_of(_numbered(16))
    assert "<summary><span>Many rows</span> 16 rows</summary>\n<p>A caption.</p>" in long
    assert long.count("<td") == 2 * 16
    assert "rows</summary>" not in _page_of(_numbered(15))
    bill = Table("bill", "Bill", COLUMNS, tuple(_line("x", 1, None, None, "Switches") for _ in range(40)))
    assert "rows</summary>" not in _page_of(bill, section="bill")


def test_the_bill_has_numbers_to_sort_by_and_sums_of_its_groups() -> None:
    """Cells of the bill say their number without signs; a group says what it comes to, or a bound from below."""
    page = text.html(_document(complete=False), ENGLISH).decode("utf-8")
    assert ' class="number" data-rank="32"><a href=' in page
    assert ' class="share" data-rank="0.15">15 %</td>' in page
    sums = re.findall('<span class="group-sum">([^<]*)<', page)
    assert sums == ["at least 25,000.00 USD", "1.50 USD"]
    assert "data-rank" not in _page_of(_numbered(3))


def test_a_group_with_a_bound_from_below_is_one_itself() -> None:
    """A share of hardware that is priced in part makes the sum of its group a bound, as it does in the subtotals."""
    document = _document()
    [at] = [at for at, section in enumerate(document.sections) if section.id == "bill"]
    sections = list(document.sections)
    table = sections[at].tables[0]
    rows = tuple(replace(row, cells=tuple(replace(cell, least=True) for cell in row.cells)) for row in table.rows)
    sections[at] = replace(sections[at], tables=(replace(table, rows=rows),))
    page = text.html(replace(document, sections=tuple(sections)), ENGLISH).decode("utf-8")
    assert re.findall('<span class="group-sum">([^<]*)<', page)[0].startswith("at least ")


def test_tools_are_hidden_where_scripts_do_not_run() -> None:
    """Filter and buttons stand in the page hidden, as they do nothing without the script."""
    page = text.html(_document(), ENGLISH).decode("utf-8")
    tools = re.findall('<div class="tools"[^>]*>', page)
    assert len(tools) == 2
    assert all(tag.endswith(" hidden>") for tag in tools)


def test_derivations_lead_back_and_to_each_other() -> None:
    """A derivation leads to where its number stands first, and a step that is explained elsewhere leads there."""
    other = replace(_derivation("other"), steps=(Step(0, "a", 1, "", "see", PATH), Step(0, "b", 1, "", "see", "gone")))
    document = _document()
    document = replace(document, sections=(*document.sections, Section("more", "More", derivations=(other,))))
    page = text.html(document, ENGLISH).decode("utf-8")
    why = {path: page[page.index(f'<details id="why-{text.slug(path)}"') :] for path in (PATH, ODD_PATH, "other")}
    back = {
        path: re.findall(r'<p class="back"><a href="(.*?)"', each.split("</details>")[0]) for path, each in why.items()
    }
    assert back == {PATH: ["#key-figures"], ODD_PATH: ["#table-bill"], "other": []}
    assert f'<a href="#why-{text.slug(PATH)}"><code>see</code></a>' in why["other"]
    assert why["other"].count("<code>see</code>") == 2
    assert why["other"].count("<a href") == 1


def test_paths_break_at_their_joints_and_numbers_do_not() -> None:
    """A path may be broken after a dot or an underscore, a number nowhere."""
    rows = (Row((Cell("fabrics.compute.line_cards 1.25"), Cell(Fraction(5, 4)))),)
    page = _page_of(Table("t", "T", (Column("name", "Name"), Column("value", "Value", "number")), rows))
    assert ' class="text">fabrics.<wbr>compute.<wbr>line_<wbr>cards 1.25</td>' in page
    assert '<td class="number">1.25</td>' in page


def test_columns_are_as_wide_as_their_texts() -> None:
    """Of two columns of text the one with more in it is wider, up to the width that it may have."""
    columns = (Column("a", "A", "text", 60), Column("b", "B", "text", 60), Column("c", "C", "text", 8))
    page = _page_of(Table("t", "T", columns, (Row((Cell("x" * 50), Cell("y"), Cell("z" * 50))),)))
    first, second, third = map(int, re.findall(r'class="text w(\d+)"', page))
    assert first > third > second
    assert first + second + third <= 20 + 2


def test_data_of_a_drawing_is_a_table() -> None:
    """The numbers of a drawing are folded below it, and Markdown has them as its table."""
    drawing = Drawing("costs", "Costs", "<svg></svg>", "What it costs", data=_numbered(2))
    document = replace(_document(), headline=(), sections=(Section("costs", "Costs", drawings=(drawing,)),))
    assert "<summary>The same as a table</summary>" in text.html(document, ENGLISH).decode("utf-8")
    assert _rows(_markdown(document))[-1] == [" row 1 ", " 1 "]


def test_code_in_a_warning_is_code() -> None:
    """What a message quotes in backticks is set as code; the rest stays text."""
    note = Note("warning", "set `homing: <dual>`, or `planes: 2`", None)
    document = replace(_document(), sections=(Section("summary", "Summary", (), (), (note,)),))
    page = text.html(document, language("en")).decode()
    assert "set <code>homing: &lt;dual&gt;</code>, or <code>planes: 2</code>" in page
