"""Documents as Markdown and as one HTML file, by the templates in `templates/`.

Text of a document is never markup: everything a template prints is escaped for its format automatically.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from itertools import groupby
from typing import Any, NamedTuple

from jinja2 import BytecodeCache, Environment, FunctionLoader, StrictUndefined
from jinja2.bccache import Bucket
from markupsafe import Markup, escape

from bomgen.core.document import Cell, Column, Derivation, Document, Row, Section, Step, Table, currency_of
from bomgen.core.language import Language
from bomgen.core.resources import folder, text
from bomgen.core.safety import printable
from bomgen.output.face import face_rules
from bomgen.output.terminal import cell_text
from bomgen.pricing.quote import lines_to_price

BILL = "bill"
"""The section with the totals."""
KEY_FIGURES = "key-figures"
"""Element id of the headline numbers."""
_PAGE = 130
"""Characters per line of a page; a wider table of numbers stacks the texts of a row."""
_WIDE = 24
"""Column width from which stacked text has its own line."""
_UNIT_PRICE, _DISCOUNT = "unit_price", "discount"
"""Columns whose numbers are shown with all digits."""
TOTAL = "total"
"""Row id of the sum of a table."""
_GROUP_COLUMN = "category"
"""The column that repeats the group heading."""
_UNIT_COLUMN = "unit"
"""The column of units, redundant if numbers are shown with their units."""
_LONG = 15
"""Number of rows above which a table other than the bill is folded on screen."""
_STACKED = ("vendor", "details", "place", "piece")
"""Columns of a bill that a page shows in the cells of others: part number, description, quantity."""
_FIRST = ("number", "description")
"""Columns that a page shows before the others of a bill."""
_MAY_BE_EMPTY = ("spare", "discount", "details", "place")
"""Columns of a quote that are omitted if all their cells are 0 or empty."""
_PARTS = 20
"""Column widths are given in twentieths of the page."""
_ROOM = 4
"""Extra characters per column for spacing and wide letters."""
_MINUS = "\N{MINUS SIGN}"
_AMOUNT_COLUMN = "amount"
"""The column with a total per group of the bill."""
_BEFORE_TAX = ("unit_price", "amount")
_OF_MONEY = (*_BEFORE_TAX, "inclusive_price", "inclusive_amount")
_FEW_NUMBERS = 2
"""Number columns up to which texts are not stacked, however wide."""
_MAIN_COLUMNS = 3
"""Columns that a narrow screen shows of a table that declares none."""
_UNPRINTABLE = re.compile("[\x00-\x20\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]+")
"""Control characters, including bidirectional overrides, and lone surrogates."""
_ADDRESS = re.compile(r"https?://[^\s<>|\\`\"'()\[\]]+")
_MARKDOWN = re.compile(r"[\\`\[\]|~#]|(?<!\s)\*|\*(?!\s)|(?<!\w)_|_(?!\w)|&(?=#?\w+;)|[<>$]")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "$": "&#36;", "&": "&amp;"}
_LINE_START = re.compile(r"(\d+)(?=[.)])|(?=[-+*=:])")
_NOT_IN_ID = re.compile(r"[^A-Za-z0-9._-]")
_JOINTS = re.compile(r"(?<=[A-Za-z][./_])(?=\w)|(?<=\w[./_])(?=[A-Za-z])")
"""Positions where a path, an address or a number's name may break."""
_MEASURE = re.compile(
    r"(?<![0-9A-Za-z.,])[0-9][0-9.,]* (?:%|×|[A-Z]{3}|days?|weeks?|[kMGT]?(?:W|U|b/s|FLOP/s))(?![0-9A-Za-z])"
)
_BACKTICKS = re.compile("`+")
_CODE_SPAN = re.compile("`([^`]+)`")


class Field(NamedTuple):
    """The contents of a table cell: its lines with styles, and their link."""

    kind: str
    lines: tuple[tuple[str, str], ...]
    link: str
    title: str
    unknown: bool
    rank: str = ""
    """Sort value."""
    best: bool = False
    """Whether it is the best of its row."""
    documents: tuple[tuple[str, str], ...] = ()
    """Title and address of documents, instead of the lines; no address is empty."""
    code: bool = False
    """Whether backticks enclose code."""


def markdown(document: Document, language: Language) -> bytes:
    """Return a document as Markdown in UTF-8, for repository hosting sites."""
    document = document.printed or document
    environment = _environment(document, language, autoescape=False)
    return environment.get_template(f"{document.kind}.md.j2").render(document=document).encode("utf-8")


def html(document: Document, language: Language, alone: bool = True) -> bytes:
    """Return a document as one self-contained HTML page in UTF-8, with face, styles, drawings and script.

    Not `alone` it is for a frame of the page of `bomgen serve`, which runs no script and has the face.
    """
    document = document.printed or document
    environment = _environment(document, language, autoescape=True)
    name = document.kind
    script = _Asset(text(folder("templates") / f"{name}.js")) if alone and not document.cover else None
    assets = {"style": _Asset(face_rules(alone) + text(folder("templates") / f"{name}.css")), "script": script}
    return environment.get_template(f"{name}.html.j2").render(document=document, **assets).encode("utf-8")


def slug(path: str) -> str:
    """Return a result path as part of an HTML id; distinct paths give distinct ids."""
    return _NOT_IN_ID.sub(lambda match: f"~{ord(match[0]):x}~", path)


class _Asset:
    """Style or script embedded in the page, and its hash for the content security policy."""

    def __init__(self, content: str) -> None:
        self.text = Markup(content)  # noqa: S704
        self.hash = "sha256-" + b64encode(sha256(self.text.encode()).digest()).decode()


class _Raw(str):
    __slots__ = ()


class _Compiled(BytecodeCache):
    """The compiled templates of this process: the page of `bomgen serve` needs them again with every edit."""

    def __init__(self) -> None:
        self._kept: dict[str, Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        """Take what has been compiled from the same text."""
        bucket.code = self._kept.get(f"{bucket.key}-{bucket.checksum}")

    def dump_bytecode(self, bucket: Bucket) -> None:
        """Keep what has been compiled."""
        self._kept[f"{bucket.key}-{bucket.checksum}"] = bucket.code


_compiled = _Compiled()


def _environment(document: Document, language: Language, autoescape: bool) -> Environment:
    view = _View(document, language)
    environment = Environment(
        loader=FunctionLoader(lambda name: text(folder("templates") / name)),
        autoescape=autoescape,  # noqa: S701 - Markdown has an escape of its own
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=(lambda value: value if isinstance(value, Markup) else _plain(str(value)))
        if autoescape
        else _markdown_escaped,
        auto_reload=False,
        bytecode_cache=_compiled,
        optimized=False,  # a template is used once, so that constant folding does not pay
    )
    environment.filters = {
        "bill_columns": view.bill_columns,
        "breakable": lambda text: Markup("<wbr>").join(_JOINTS.split(_plain(text))),  # between the steps of a path
        "code": _code,
        "code_spans": _code_spans if autoescape else _markdown_code_spans,
        "ends": _ends,
        "extra": _extra,
        "fields": view.fields,
        "main": _main_columns,
        "group_sum": view.group_sum,
        "groups": lambda table: ((key, list(rows)) for key, rows in groupby(table.rows, key=lambda row: row.group)),
        "headings": view.headings,
        "headline": view.headline,
        "home": view.home,
        "indent": lambda depth: _Raw("  " * depth),
        "length": len,
        "line": _line,
        "linked": lambda title, address: _Raw(f"[{_markdown_code_spans(title)}](<{address}>)"),
        "nested": _nested,
        "picture": lambda logo: f"data:{logo.media_type};base64,{b64encode(logo.content).decode()}",
        "cell": language.cell,
        "stacked": view.stacked,
        "slug": slug,
        "keep_units": lambda text: _mark(_MEASURE, r'<span class="measure">\g<0></span>', text),
        "leads": view.leads,
        "folds": lambda table: table.folded or (len(table.rows) > _LONG and not table.open),
        "long": lambda table: len(table.rows) > _LONG,
        "steps": _steps,
        "svg": Markup,
        "tables": _tables,
        "part_numbers": lambda text: text.split(" / "),
        "with_data": lambda section: _tables(  # those of its drawings come first
            [*(drawing.data for drawing in section.drawings if drawing.data), *section.tables]
        ),
        "value": lambda step: language.value(step.value, step.unit, step.estimate),
        "why": lambda cell: view.leads(cell.why),
    }
    environment.globals = {"line_break": _Raw("<br>"), "bold": _Raw("**"), "word": language.word}
    environment.globals |= {"bill": BILL, "total": TOTAL, "key_figures": KEY_FIGURES}
    return environment


class _View:
    """Template functions for tables and amounts."""

    def __init__(self, document: Document, language: Language) -> None:
        self.document, self.language = document, language
        self.derived = {derivation.path for section in document.sections for derivation in section.derivations}
        self.homes: dict[str, str] = {cell.why: KEY_FIGURES for _, cell in document.headline if cell.why}
        for table in (table for section in document.sections for table in section.tables):
            for cell in (cell for row in table.rows for cell in row.cells if cell.why):
                self.homes.setdefault(str(cell.why), f"table-{slug(table.id)}")

    def leads(self, path: str | None) -> str:
        """Return the link to the derivation of a path; empty without one in the document."""
        return f"#why-{slug(path)}" if path in self.derived and path else ""

    def home(self, derivation: Derivation) -> str:
        """Return the link from a derivation to the first place of its number; empty if it is not shown."""
        return f"#{self.homes[derivation.path]}" if derivation.path in self.homes else ""

    def bill_columns(self, table: Table, stacked: bool) -> list[int]:
        """Return the non-empty columns of a bill, without those that stand in the cells of others if `stacked`.

        Prices including tax take the place of those before tax; without any price there is no column of money. What is
        sold then comes before its part number.
        """
        hidden: tuple[str, ...] = () if self.document.totals.priced_lines else _OF_MONEY
        if any(column.key == "inclusive_price" for column in table.columns):
            hidden = (*hidden, *_BEFORE_TAX)
        shown = [
            index
            for index, column in enumerate(table.columns)
            if column.key not in hidden
            and not (stacked and column.key in _STACKED)
            and (column.key not in _MAY_BE_EMPTY or any(row.cells[index].value for row in table.rows))
        ]
        return sorted(shown, key=lambda index: table.columns[index].key not in _FIRST) if stacked else shown

    def stacked(self, fields: Sequence[Field], table: Table) -> dict[str, str]:
        """Return the texts of a bill line that a page shows in the cells of others, by the key of their column."""
        texts = zip(table.columns, fields, strict=True)
        return {column.key: field.lines[0][1] for column, field in texts if column.key in _STACKED}

    def headline(self, cell: Cell) -> str:
        """Return a number of the cover; an amount is a lower bound if a price is missing."""
        text = self.language.cell(cell)
        if not isinstance(cell.value, Decimal) or self.document.totals.complete:
            return text
        return self.language.word("ui-at-least", amount=text)

    def headings(self, table: Table, stacked: bool) -> list[tuple[str, str]]:
        """Return kind and title of each column; one for all texts if these are stacked.

        The kind of a text column that is not stacked includes its width.
        """
        all: list[tuple[str, str]] = [
            (column.kind, self.language.heading(table, index)) for index, column in enumerate(table.columns)
        ]
        if not stacked:
            return all
        if not _stacks(table):
            widths = [self._width(table, index) for index in range(len(table.columns))]
            return [
                (f"{kind} w{_parts(width, sum(widths))}" if kind == "text" else kind, title)
                for width, (kind, title) in zip(widths, all, strict=True)
            ]
        titles = [column.title for column in table.columns if column.kind == "text" and column.width >= _WIDE]
        return [("stack", " · ".join(titles[:2])), *(each for each in all if each[0] != "text")]

    def _width(self, table: Table, index: int) -> int:
        """Return the width of a column in characters, limited to its maximum."""
        column = table.columns[index]
        longest = max((len(self.language.cell(row.cells[index])) for row in table.rows), default=0)
        return min(column.width, max(longest, len(column.title)) + _ROOM)

    def group_sum(self, rows: Sequence[Row], table: Table) -> str:
        """Return the total of a group of bill rows; empty if no charged row is priced."""
        rows = lines_to_price(rows)
        places = {column.key: index for index, column in enumerate(table.columns)}
        index = places.get("inclusive_amount", places[_AMOUNT_COLUMN])
        cells = [row.cells[index] for row in rows]
        amounts = [cell.value for cell in cells if isinstance(cell.value, Decimal)]
        if not amounts:
            return ""
        text = self.language.money(sum(amounts, Decimal(0)), cells[0].unit)
        least = len(amounts) < len(cells) or any(cell.least for cell in cells)
        return self.language.word("ui-at-least", amount=text) if least else text

    def fields(self, rows: Sequence[Row], table: Table, stacked: bool) -> Iterator[list[Field]]:
        """Yield the fields of each row; all texts in one field if these are stacked."""
        currencies = [currency_of(table, index) for index in range(len(table.columns))]
        stacked = stacked and _stacks(table)
        for row in rows:
            columns = list(zip(table.columns, row.cells, currencies, strict=True))
            shown = [self._field(*column) for column in columns if not stacked or column[0].kind != "text"]
            yield [self._stack(row, table.columns), *shown] if stacked else shown

    def _field(self, column: Column, cell: Cell, currency: str) -> Field:
        value, kind, link = cell.value, column.kind, self.leads(cell.why)
        if value is None and kind == "money":
            return Field(kind, (("", "–"),), "", "", True)
        if isinstance(value, str):
            text = self.language.value(value, cell.unit)
            if _ADDRESS.fullmatch(value):
                return Field("address", (("", value),), link or value, "", False)
        elif isinstance(value, Decimal) and currency:
            write = self.language.unit_price if column.key in (_UNIT_PRICE, "inclusive_price") else self.language.amount
            text = write(value, currency)
            text = self.language.word("ui-at-least", amount=text) if cell.least else text
            text = self.language.about(text, cell.estimate, lambda end: write(end, currency))
        elif column.key in _MAY_BE_EMPTY and not value and self.document.cover:
            text = "–"
        elif kind == "share" and value is not None and not isinstance(value, Decimal):
            text = self.language.exact_share(Fraction(value)) if column.key == _DISCOUNT else self.language.share(value)
        else:
            text = self.language.cell(cell)
        text = f"{_MINUS}{text[1:]}" if text.startswith("-") and column.kind != "text" else text
        title = self.language.word("ui-derived", value=text) if link else ""
        look = f"{kind} long" if kind == "number" and len(text) > _WIDE else kind
        rank = "" if value is None or isinstance(value, str) else f"{float(value):.15g}"
        documents = tuple((name, address if _ADDRESS.fullmatch(address) else "") for name, address in cell.documents)
        look = f"{look} best" if cell.best else look
        return Field(look, (("", text),), link, title, False, rank, cell.best, documents, column.code)

    def _stack(self, row: Row, columns: Sequence[Column]) -> Field:
        """Return all texts of a row in one field: wide ones as lines, narrow ones on one line, remarks last."""
        lines: list[tuple[str, str]] = []
        remarks: list[tuple[str, str]] = []
        narrow: list[str] = []
        numbers = False
        for column, cell in zip(columns, row.cells, strict=True):
            if column.kind != "text":
                numbers = True
            elif cell.value is None or cell.value == "" or (row.group and column.key == _GROUP_COLUMN):
                continue
            elif numbers:
                remarks.append(("remark", self.language.cell(cell)))
            elif column.width < _WIDE:
                narrow.append(self.language.cell(cell))
            else:
                lines.append(("detail" if lines else "name", self.language.cell(cell)))
        if narrow:
            lines.append(("place", " · ".join(narrow)))
        return Field("stack", (*lines, *remarks), "", "", False)


def _stacks(table: Table) -> bool:
    numbers = sum(column.kind != "text" for column in table.columns)
    wide = numbers > _FEW_NUMBERS and sum(column.width for column in table.columns) > _PAGE
    return wide and not table.sortable


def _extra(table: Table) -> list[int]:
    """Return the numbers of the columns of a page that a narrow screen hides, from 1."""
    stacked = _stacks(table)
    columns = [column for column in table.columns if not stacked or column.kind != "text"]
    main = _main_columns(columns, _MAIN_COLUMNS - stacked)
    return [number for number, column in enumerate(columns, 1 + stacked) if column not in main]


def _main_columns(columns: Sequence[Column], most: int = _MAIN_COLUMNS) -> Sequence[Column]:
    """Return the columns that a narrow screen shows: those declared as main, else the first."""
    return [column for column in columns if column.main] or columns[:most]


def _parts(width: int, of: int) -> int:
    """Return the twentieths of a table for a column: rounded up for narrow columns, down for wide ones."""
    return -(-width * _PARTS // of) if width < _WIDE else max(width * _PARTS // of, 1)


def _tables(tables: Sequence[Table]) -> Iterator[Table]:
    """Yield the non-empty tables, without a units column that the numbers make redundant."""
    for table in tables:
        for index, column in enumerate(table.columns):
            if column.key == _UNIT_COLUMN and any(cell.unit for row in table.rows for cell in row.cells[:index]):
                rows = (Row(row.cells[:index] + row.cells[index + 1 :], row.group) for row in table.rows)
                columns = table.columns[:index] + table.columns[index + 1 :]
                yield replace(table, columns=columns, rows=tuple(rows))
                break
        else:
            if table.rows:
                yield table


def _steps(derivation: Derivation) -> Iterator[tuple[Step, int, int]]:
    """Yield the steps with their depth and its increase, at most one level at a time."""
    depth = -1
    for step in derivation.steps:
        deeper = min(step.depth - depth, 1)
        depth += deeper
        yield step, depth, deeper


def _nested(deeper: int) -> Markup:
    """Return the HTML between two items of nested lists, or before the first."""
    return Markup("<ul>" if deeper > 0 else "</li>" + "</ul></li>" * -deeper)  # noqa: S704


def _ends(derivation: Derivation) -> Markup:
    """Return the HTML that closes all lists after the last step."""
    depths = [depth for _, depth, _ in _steps(derivation)]
    return Markup("</li></ul>" * (depths[-1] + 1 if depths else 0))  # noqa: S704


def _plain(text: str) -> str:
    return text if text.isprintable() and "  " not in text else _UNPRINTABLE.sub(" ", text)


def _markdown_escaped(value: object) -> str:
    """Return a value for a Markdown template, escaped so that it is shown literally."""
    if isinstance(value, _Raw):
        return value
    text = _plain(str(value)).strip()
    return f"<{text}>" if _ADDRESS.fullmatch(text) else _escape_markdown(text)


def _escape_markdown(text: str) -> str:
    return _MARKDOWN.sub(lambda match: _ENTITIES.get(match[0], f"\\{match[0]}"), text)


def _line(value: object) -> _Raw:
    """Return Markdown text for the start of a line, where dashes and numbers would begin lists."""
    text = _markdown_escaped(value)
    start = _LINE_START.match(text)
    return _Raw(f"{text[: start.end()]}\\{text[start.end() :]}" if start else text)


def _code_spans(text: str) -> Markup:
    return _mark(_CODE_SPAN, r"<code>\1</code>", text)


def _mark(pattern: re.Pattern[str], markup: str, text: str) -> Markup:
    return Markup(pattern.sub(markup, str(escape(_plain(text)))))  # noqa: S704 - the text is escaped


def _markdown_code_spans(text: str) -> _Raw:
    """Return message text as Markdown, with backticks as code, but not around a pipe, which would end a cell."""
    plain = _plain(text).strip()
    if "|" in plain or _ADDRESS.fullmatch(plain):
        return _Raw(_markdown_escaped(plain))
    pieces = enumerate(_CODE_SPAN.split(plain))  # every second piece is code
    return _Raw("".join(_code(piece) if at % 2 else _escape_markdown(piece) for at, piece in pieces))


def _code(text: str) -> _Raw:
    """Return a Markdown code span, fenced by more backticks than the text has in a row."""
    plain = _plain(text).strip()
    fence = "`" * (max((len(run) for run in _BACKTICKS.findall(plain)), default=0) + 1)
    space = " " if len(fence) > 1 else ""
    return _Raw(f"{fence}{space}{plain}{space}{fence}")


# comment ------------------------------------------------------------------------------------------------------------
# A document as Markdown for a review comment: one visible page, the remaining rows folded.

MOST_LINES = 60
"""Maximum number of visible lines."""
MOST_FOLDED = 2000
"""Maximum number of folded rows of a table."""
MOST_CHARACTERS = 60_000
"""Maximum length of the comment; GitHub refuses 65,536 characters and more."""
SHOWN = {"money": 9, "plan": 4, "design": 8, "order": 6, "lines": 12, "moves": 4, "left-over": 3, "warnings": 2}
"""Visible rows per table, in the order in which tables are allotted lines."""
OTHERS = 2
"""Visible rows of any other table."""
OVERHEAD = 5
"""Lines of a table besides its rows: title, blank line, head, rule, blank line."""
FOLD = 4
"""Visible lines of a fold, and of the notes."""
SIGNS = {"-": "➖", "+": "➕", "~": "✎"}
_HTML = {"&": "&amp;", "<": "&lt;", ">": "&gt;"}
_MARKS = {sign: f"&#{ord(sign)};" for sign in "\\`*_[]|#~@!$"}
_INSIDE = re.compile(r"(?<=[A-Za-z0-9])&#95;(?=[A-Za-z0-9])")
"""An underscore inside a word, which has no meaning in Markdown."""
_LINK = ("://", "&#58;//"), ("www.", "www&#46;")


def comment(document: Document, language: Language) -> str:
    """Return a document as Markdown."""
    lines = [f"### {safe(document.subtitle)}", "", safe(document.title), ""]
    shown = _rows_seen(document, MOST_LINES - len(lines) - FOLD)
    folded = list[str]()
    for section in document.sections:
        for table in section.tables:
            seen = shown.get(table.id, 0)
            lines += _table(section, table, table.rows[:seen], language) if seen else []
            if rest := table.rows[seen:][:MOST_FOLDED]:
                folded += _table(section, table, rest, language)
        said = [f"- {safe(text)}" for text in (*section.text, *(note.text for note in section.notes))]
        is_seen = not section.tables or any(table.id in shown for table in section.tables)
        (lines if is_seen else folded).extend([*said, ""] if said else [])
    if folded:
        title = language.word("diff-everything-else")
        more = [f"<details><summary>{title}</summary>", "", *_cut(lines, folded, language), "</details>"]
        lines += more
    return "\n".join(lines).rstrip() + "\n"


def _rows_seen(document: Document, room: int) -> dict[str, int]:
    """Return the number of visible rows per table id; important tables are allotted lines first."""
    tables = [(section, table) for section in document.sections for table in section.tables if not table.folded]
    ids, ranks = {table.id for _, table in tables}, list(SHOWN)
    room -= sum(_texts(section) for section in document.sections if not section.tables)
    shown = dict[str, int]()
    for section, table in sorted(
        tables, key=lambda each: ranks.index(each[1].id) if each[1].id in ranks else len(ranks)
    ):
        wanted = 0 if table.id == "lines" and "order" in ids else SHOWN.get(table.id, OTHERS)
        rows = min(wanted, len(table.rows), room - OVERHEAD - _texts(section))
        if rows > 0:
            shown[table.id] = rows
            room -= rows + OVERHEAD + _texts(section)
    return shown


def _texts(section: Section) -> int:
    """Return the number of lines for the texts of a section, with a blank line."""
    count = len(section.text) + len(section.notes)
    return count + 1 if count else 0


def _cut(shown: Sequence[str], folded: Sequence[str], language: Language) -> Iterator[str]:
    left = MOST_CHARACTERS - sum(len(line) + 1 for line in shown)
    for at, line in enumerate(folded):
        left -= len(line) + 1
        if left < 0:
            yield from ("", language.word("diff-more-lines", lines=len(folded) - at), "")
            return
        yield line


def _table(section: Section, table: Table, rows: Sequence[Row], language: Language) -> list[str]:
    """Return a table with a title, the number of rows if it is cut, and the row groups as a column."""
    part = f" ({len(rows)} / {len(table.rows)})" if len(rows) < len(table.rows) else ""
    grouped = any(row.group for row in table.rows)
    ats = range(len(table.columns))
    heads, currencies = [safe(language.heading(table, at)) for at in ats], [currency_of(table, at) for at in ats]
    rule = "|".join("---" if column.kind == "text" else "---:" for column in table.columns)
    group = "|" if grouped else ""
    found = [f"**{safe(table.title or section.title)}**{part}", ""]
    found += [f"| |{group}{'|'.join(heads)}|", f"|---|{'---|' if grouped else ''}{rule}|"]
    for row in rows:
        first = f"{safe(row.group or '')}|" if grouped else ""
        shown = zip(table.columns, row.cells, currencies, strict=True)
        cells = (safe(cell_text(*each, language)) for each in shown)
        found.append(f"|{SIGNS.get(row.sign, '')}|{first}{'|'.join(cells)}|")
    return [*found, ""]


def safe(text: str) -> str:
    """Return a text that is shown literally: no markup, mention, link or line break."""
    found = "".join(_HTML.get(sign) or _MARKS.get(sign) or sign for sign in printable(text))
    found = _INSIDE.sub("_", found)
    for mark, instead in _LINK:
        found = found.replace(mark, instead)
    return found.replace("-&gt;", "→")
