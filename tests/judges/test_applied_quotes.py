"""Edited quotes as LibreOffice saves them are read back as those of openpyxl, and rebuilt to the total of the sheet."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest
from depth import few
from openpyxl import load_workbook
from workbook_edits import (
    EDITS,
    FORMULA_CHANGED,
    SORTED,
    TOGETHER,
    WORKBOOK,
    Edited,
    Quote,
    edit_together,
    plan_without_alternatives,
    workbook_of,
)

from bomgen.apply.application import apply_quote
from bomgen.workflow.plan_files import open_plan

CHECKOUT = Path(__file__).parents[2]
SAVED = dict(few(EDITS.items(), 8))
"""Edits that LibreOffice saves; every day some of them, of which each is also tried as openpyxl saves it."""


@pytest.fixture(scope="module")
def saved(resave, tmp_path_factory) -> dict[str, Path]:
    """Every edit of a quote as LibreOffice saves it."""
    edits, saved = tmp_path_factory.mktemp("edits"), tmp_path_factory.mktemp("applied")
    content = workbook_of(plan_without_alternatives())
    for name, edited in (SAVED | {"formula-changed": FORMULA_CHANGED, "sorted": Edited(SORTED)}).items():
        quote = Quote(content)
        edited.edit(quote)
        (edits / f"edit-{name}.xlsx").write_bytes(quote.saved())
    for name, names in TOGETHER.items():
        quote = Quote(content)
        edit_together(quote, names)
        (edits / f"edit-{name}.xlsx").write_bytes(quote.saved())
    resave(edits, saved)
    return {path.stem: path for path in saved.iterdir()}


def test_an_unedited_workbook_gives_no_edit(plan, resaved):
    """Whatever LibreOffice makes of numbers, texts, hidden columns and names."""
    file = open_plan(str(CHECKOUT / "plans" / f"{plan}.yaml"), None)
    found = apply_quote(resaved[f"{plan}.{Path(WORKBOOK).stem}"].read_bytes(), WORKBOOK, file)
    assert (found.differences, found.follows, found.files, found.problems) == ((), (), (), ())


@pytest.mark.parametrize("name", SAVED)
def test_edits_are_applied_or_refused(name, saved):
    """As when openpyxl saves them; the total that LibreOffice worked out is that of the rebuilt quote, to the cent."""
    path, wanted = saved[f"edit-{name}"], EDITS[name]
    found = apply_quote(path.read_bytes(), WORKBOOK, plan_without_alternatives())
    if wanted.refused:
        assert any(wanted.refused in problem.message for problem in found.problems), found.problems
        return
    assert found.problems == ()
    assert wanted.gives in [line for _, _, text in found.files for line in text.decode("utf-8").splitlines()]
    if not found.follows:
        workbook = load_workbook(path, data_only=True)
        [(sheet, place)] = workbook.defined_names["bom_amount"].destinations
        total = Decimal(str(workbook[sheet][place].value)).quantize(Decimal("0.01"))
        assert found.after is not None
        assert found.after.amount == total


@pytest.mark.parametrize("name", TOGETHER)
def test_edits_in_one_workbook(name, saved):
    """The sum of the parts by number, which leaves out a charge that was added, is no edit."""
    path = saved[f"edit-{name}"]
    found = apply_quote(path.read_bytes(), WORKBOOK, plan_without_alternatives())
    assert found.problems == ()
    lines = [line for _, _, text in found.files for line in text.decode("utf-8").splitlines()]
    assert {EDITS[each].gives for each in TOGETHER[name]} <= set(lines)
    workbook = load_workbook(path, data_only=True)
    [(sheet, place)] = workbook.defined_names["bom_amount"].destinations
    assert found.after is not None
    assert found.after.amount == Decimal(str(workbook[sheet][place].value)).quantize(Decimal("0.01"))


def test_sorted_and_hidden_rows_change_nothing(saved):
    """The sum of the lines in sight, which LibreOffice works out anew, is no edit."""
    found = apply_quote(saved["edit-sorted"].read_bytes(), WORKBOOK, plan_without_alternatives())
    assert (found.differences, found.files, found.problems) == ((), (), ())


def test_a_changed_formula_is_refused(saved):
    """By what it comes to."""
    found = apply_quote(saved["edit-formula-changed"].read_bytes(), WORKBOOK, plan_without_alternatives())
    assert any(FORMULA_CHANGED.refused in problem.message for problem in found.problems)
