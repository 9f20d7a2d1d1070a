"""Documents as text: what is aligned, wrapped, counted and left out."""

from __future__ import annotations

from decimal import Decimal

import pytest
from rich.cells import cell_len

from bomgen.core.document import Cell, Column, Document, Note, Section, Table, row_of
from bomgen.core.language import language
from bomgen.output.terminal import render_lines, text

WORDS = language("zh")
COLUMNS = (Column("name", "名称"), Column("amount", "金额", "money"), Column("remark", "备注"))
LONG = "两台设备之间原有 2 根 MPO-12/APC，现为 1 根；其余线缆保持不动，无需改接。"


def page(*tables: Table) -> Document:
    """A document with a section of tables."""
    return Document("标题", "zh", (Section("s", "", tables=tables, notes=(Note("info", "a\x1b[31m\nb"),)),))


def shown(*tables: Table, every: bool = False, width: int | None = None) -> list[str]:
    """The lines of a document of tables."""
    return [line.text for line in render_lines(page(*tables), WORDS, every, width)]


def test_wide_letters_are_aligned() -> None:
    """Numbers end in one column whatever letters stand before them; the heading names the currency once."""
    rows = (row_of("机柜", Cell(Decimal("1.5"), "USD"), "x", sign="+"), row_of("PDU", Cell(None, "USD"), "y"))
    found = shown(Table("t", "", COLUMNS, rows))
    assert found[2] == "    名称  金额（USD）  备注"
    assert [cell_len(line[: line.index(last)]) for line, last in zip(found[3:5], "xy", strict=True)] == [23, 23]
    assert found[3].startswith("  + 机柜")
    assert "待报价" in found[4]


@pytest.mark.parametrize("width", [40, 60])
def test_chinese_wraps_between_letters(width: int) -> None:
    """No line is wider than the terminal or begins with a mark, and nothing is lost."""
    found = shown(Table("t", "", COLUMNS, (row_of("机柜", Cell(Decimal("1.5"), "USD"), LONG),)), width=width)
    assert max(map(cell_len, found)) <= width
    assert not [line for line in found if line.strip().startswith(("，", "；", "。"))]
    assert all(part in "".join("".join(found).split()) for part in ("MPO-12/APC，现为", "保持不动", "无需改接。"))


def test_rows_beyond_the_first_are_counted() -> None:
    """A table says how many rows it leaves out, a folded one how many it has; all are shown where all are asked for."""
    rows = tuple(row_of(str(number), None, "") for number in range(5))
    tables = Table("t", "", COLUMNS, rows, most=2), Table("u", "其他", COLUMNS, rows, folded=True)
    assert shown(*tables)[-5:-2] == ["  另有 3 行；加 --all 显示", "", "其他：5 行；加 --all 显示"]
    assert 2 * len(rows) == sum("待报价" in line for line in shown(*tables, every=True))


def test_text_controls_no_terminal() -> None:
    """Control characters are replaced, and a line stays one."""
    assert text(page(), WORDS).decode().splitlines()[-1] == "说明：a�[31m b"
