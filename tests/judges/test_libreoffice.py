"""LibreOffice, told to trust no stored value, recalculates every workbook."""

from __future__ import annotations

import json
import re
import shutil
import zipfile
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from openpyxl import load_workbook
from openpyxl.workbook import Workbook

TOTALS = {"bom_list": "list", "bom_discount": "discount", "bom_tax": "tax", "bom_amount": "amount"}
PLANTED = "planted"
"""A copy of a workbook with wrong stored values: that they are put right shows that the judge really recalculates."""
PRICED = "llama65b-linkx"
ALWAYS_RECALCULATE = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load">
<prop oor:name="OOXMLRecalcMode" oor:op="fuse"><value>0</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Misc">
<prop oor:name="FirstRun" oor:op="fuse"><value>false</value></prop></item>
<item oor:path="/org.openoffice.Office.Common/Security/Scripting">
<prop oor:name="DisableMacrosExecution" oor:op="fuse"><value>true</value></prop></item>
</oor:items>
"""


def _plant(source: Path, target: Path) -> int:
    """Copy a workbook with a wrong number stored beside every formula that has a number; how many were planted."""
    count = 0
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.startswith("xl/worksheets/sheet"):
                content, found = re.subn(rb"(</f>\s*<v>)[0-9.]+(</v>)", rb"\g<1>987654321\g<2>", content)
                count += found
            new.writestr(name, content)
    return count


@pytest.fixture(scope="module")
def recalculated(quotes, judge, run, tmp_path_factory) -> dict[str, Path]:
    """Every workbook as LibreOffice saves it again, in one start with a fresh profile."""
    soffice = judge("soffice")
    place = tmp_path_factory.mktemp("libreoffice")
    (place / "profile" / "user").mkdir(parents=True)
    (place / "profile" / "user" / "registrymodifications.xcu").write_text(ALWAYS_RECALCULATE, encoding="utf-8")
    (place / "in").mkdir()
    for name, folder in quotes.items():
        shutil.copy(folder / "quote.xlsx", place / "in" / f"{name}.xlsx")
    assert _plant(quotes[PRICED] / "quote.xlsx", place / "in" / f"{PLANTED}.xlsx") > 0
    done = run(
        soffice,
        f"-env:UserInstallation=file://{place / 'profile'}",
        *("--headless", "--norestore", "--nologo", "--nodefault", "--nofirststartwizard"),
        *("--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", place / "out"),
        *sorted((place / "in").iterdir()),
        environment={"HOME": str(place / "profile")},
    )
    assert done.returncode == 0, done.stderr
    files = {name: place / "out" / f"{name}.xlsx" for name in (*quotes, PLANTED)}
    assert [name for name, path in files.items() if not path.exists()] == [], done.stderr
    return files


def _formulas(path: Path) -> list[tuple[str, str]]:
    """Sheet and place of every formula."""
    return [
        (sheet.title, cell.coordinate)
        for sheet in load_workbook(path).worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "f"
    ]


def _named(workbook: Workbook, name: str) -> Any:
    """The value of the one cell that a defined name stands for."""
    [(sheet, place)] = workbook.defined_names[name].destinations
    return workbook[sheet][place].value


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return abs(one - other) <= 1e-9 * max(1, abs(one), abs(other))
    return (one or "") == (other or "")


def test_totals_are_those_of_the_bill(plan, quotes, recalculated):
    """The four named totals, recalculated by LibreOffice, are those of bom.json to the cent."""
    totals = json.loads((quotes[plan] / "bom.json").read_text("utf-8"))["totals"]
    workbook = load_workbook(recalculated[plan], data_only=True)
    found = {name: Decimal(str(_named(workbook, name))).quantize(Decimal("0.01")) for name in TOTALS}
    assert found == {name: Decimal(totals[key]) for name, key in TOTALS.items()}


def test_no_cell_is_an_error(plan, recalculated):
    """No cell of a recalculated workbook is an error value."""
    broken = [
        (sheet.title, cell.coordinate, cell.value)
        for sheet in load_workbook(recalculated[plan], data_only=True).worksheets
        for row in sheet.iter_rows()
        for cell in row
        if cell.data_type == "e"
        or (isinstance(cell.value, str) and re.fullmatch(r"#[A-Z0-9/]+[!?]|#N/A|Err:\d+", cell.value))
    ]
    assert broken == []


def test_stored_values_are_the_recalculated_ones(plan, quotes, recalculated):
    """What a viewer that cannot calculate shows in a formula cell is what LibreOffice works out."""
    path = quotes[plan] / "quote.xlsx"
    formulas = _formulas(path)
    assert formulas, "the workbook has no formula at all"
    stored = load_workbook(path, data_only=True)
    worked_out = load_workbook(recalculated[plan], data_only=True)
    differing = [
        (sheet, place, stored[sheet][place].value, worked_out[sheet][place].value)
        for sheet, place in formulas
        if not _same(stored[sheet][place].value, worked_out[sheet][place].value)
    ]
    assert differing == []


def test_the_judge_really_recalculates(quotes, recalculated):
    """Wrong values planted beside the formulas are put right, so equal values mean something."""
    truth = load_workbook(quotes[PRICED] / "quote.xlsx", data_only=True)
    judged = load_workbook(recalculated[PLANTED], data_only=True)
    for name in TOTALS:
        assert _same(_named(judged, name), _named(truth, name)), name


def test_other_readers_see_the_values(plan, quotes, judge):
    """A reader that cannot calculate finds the amount of the quote in the file as bomgen wrote it."""
    judge("python:python_calamine")
    from python_calamine import CalamineWorkbook

    path = quotes[plan] / "quote.xlsx"
    amount = float(json.loads((quotes[plan] / "bom.json").read_text("utf-8"))["totals"]["amount"])
    [(sheet, place)] = load_workbook(path).defined_names["bom_amount"].destinations
    column, row = re.fullmatch(r"\$?([A-Z]+)\$?(\d+)", place).groups()
    number = 0
    for letter in column:
        number = number * 26 + ord(letter) - ord("A") + 1
    rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_name(sheet).to_python(skip_empty_area=False)
    assert rows[int(row) - 1][number - 1] == pytest.approx(amount)
