"""Edited quotes back into their plans: what can be said is said in one place, all else is refused with a reason."""

from __future__ import annotations

import shutil
import sys
import zipfile
from collections.abc import Callable
from datetime import date, time
from decimal import Decimal
from difflib import SequenceMatcher
from io import BytesIO
from itertools import cycle, product
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from openpyxl.cell.cell import MergedCell
from workbook_edits import (
    EDITS,
    QUOTE,
    SORTED,
    TOGETHER,
    WORKBOOK,
    Quote,
    edit_together,
    plan_without_alternatives,
    type_listed_sum,
    workbook_of,
)

sys.path.append(str(Path(__file__).parents[1] / "laws"))

from depth import DEEP, examples, few

from bomgen.apply.application import Application, apply_quote
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.output.writer import render
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

CHECKOUT = Path(__file__).parents[2]
PLANS = sorted((CHECKOUT / "plans").glob("*.yaml"))

SMALL = "a100-32-zh"
"""A plan of few lines."""

Applied = Callable[..., Application]


def plan_of(name: str) -> PlanFile:
    """A plan of the checkout; that of the edits without its alternatives, and one with cords sold apart."""
    if name == QUOTE:
        return plan_without_alternatives()
    file = open_plan(str(CHECKOUT / "plans" / f"{name}.yaml"), None)
    if name == "h100-127":
        return file._replace(content=file.content.replace(b"\nquote:", b"\ncatalog: [../tests/apply/parts/]\n\nquote:"))
    return file


@pytest.fixture(scope="module")
def workbooks() -> dict[str, bytes]:
    """The customer's workbooks that were asked for, by plan."""
    return {}


@pytest.fixture(scope="module")
def applied(workbooks: dict[str, bytes]) -> Applied:
    """Apply an edit of the workbook of a plan."""

    def apply(plan: str, edit: Callable[[Quote], Any], language: str = "en") -> Application:
        if plan not in workbooks:
            workbooks[plan] = workbook_of(plan_of(plan))
        quote = Quote(workbooks[plan], language)
        edit(quote)
        return apply_quote(quote.saved(), WORKBOOK, plan_of(plan))

    return apply


def edited(file: PlanFile, found: Application) -> PlanFile:
    """The plan as it stands after what was found is written."""
    texts = {name: after for name, _, after in found.files}
    own = Path(file.name).name
    beside = tuple((file.folder / name, content) for name, content in texts.items() if name != own)
    return file._replace(content=texts.get(own, file.content), unwritten=beside)


def text_after(found: Application) -> list[str]:
    """The lines of all files afterwards."""
    return [line for _, _, after in found.files for line in after.decode("utf-8").splitlines()]


@pytest.mark.parametrize("path", few(PLANS, 9), ids=lambda path: path.stem)
def test_an_unedited_workbook_gives_no_edit(path: Path) -> None:
    """As openpyxl saves it, without the values of formulas; tests/judges has LibreOffice save that of every plan."""
    file = open_plan(str(path), None)
    found = apply_quote(Quote(workbook_of(file)).saved(), WORKBOOK, file)
    assert (found.differences, found.follows, found.files, found.problems) == ((), (), (), ())


@pytest.mark.parametrize("name", few(EDITS, 3))
def test_edits_are_applied_or_refused(applied: Applied, name: str) -> None:
    """The plan has the line that says it, and nothing else changes; or the reason is said."""
    wanted = EDITS[name]
    found = applied(QUOTE, wanted.edit)
    if wanted.refused:
        assert any(wanted.refused in problem.message for problem in found.problems), found.problems
        return
    assert found.problems == ()
    assert wanted.gives in text_after(found)
    file = plan_of(QUOTE)
    before = file.content.decode("utf-8").splitlines()
    after = next(text for name, _, text in found.files if name == f"{QUOTE}.yaml").decode("utf-8").splitlines()
    changed = [
        code for code in SequenceMatcher(None, before, after, autojunk=False).get_opcodes() if code[0] != "equal"
    ]
    assert len(changed) == 1
    assert changed[0][2] - changed[0][1] <= 1 >= changed[0][4] - changed[0][3]


@pytest.mark.parametrize("name", few((name for name, edit in EDITS.items() if not edit.refused), 5))
def test_an_edit_that_was_written_is_there_already(workbooks: dict[str, bytes], applied: Applied, name: str) -> None:
    """The same workbook again says nothing that the plan has not."""
    file = edited(plan_of(QUOTE), applied(QUOTE, EDITS[name].edit))
    quote = Quote(workbooks[QUOTE])
    EDITS[name].edit(quote)
    again = apply_quote(quote.saved(), WORKBOOK, file)
    assert (again.applied, again.differences, again.files, again.problems) == (True, (), (), ())


@pytest.mark.parametrize("name", ["price", "term-added", "charge-added", "charge-deleted", "share-of-a-charge"])
def test_the_workbook_before_an_edit_is_an_older_one(workbooks: dict[str, bytes], applied: Applied, name: str) -> None:
    """It would take the edit back."""
    file = edited(plan_of(QUOTE), applied(QUOTE, EDITS[name].edit))
    with pytest.raises(PlanErrors, match="has changed since this workbook was written"):
        apply_quote(workbooks[QUOTE], WORKBOOK, file)


def several(quote: Quote, words: dict[str, str]) -> None:
    """What is agreed in one talk: a price, a server more, a charge, an address, a term and the validity."""
    quote.cell("server", "unit_price").value = 180000
    quote.cell("server", "quantity").value += 1
    row = max(quote.lines.values()) + 1
    for key, value in {"category": words["category"], "description": "Air", "quantity": 1, "unit_price": 500}.items():
        quote.bill.cell(row, quote.column(quote.titles[key])).value = value
    customer = quote.labelled(quote.cover, words["customer"])
    first, *others = customer.value.split("\n")
    customer.value = "\n".join((first, "A new street", *others))
    last = quote.labelled(quote.terms, words["last"], 0)
    quote.terms.cell(last.row + 1, 1).value = words["term"]
    quote.labelled(quote.cover, words["until"]).value = "2027-01-31"


@pytest.mark.parametrize(
    ("plan", "words"),
    [
        (
            QUOTE,
            {
                "category": "Services",
                "customer": "Customer",
                "until": "Valid until",
                "last": "Delivery within 16 weeks of the order.",
                "term": "Warranty of three years.",
            },
        ),
        (
            SMALL,
            {
                "category": "服务",
                "customer": "客户",
                "until": "有效期至",
                "last": "税额按优惠后未税总额计算。",
                "term": "质保三年。",
            },
        ),
    ],
)
def test_several_edits_at_once(workbooks: dict[str, bytes], applied: Applied, plan: str, words: dict[str, str]) -> None:
    """All are applied, and all are there already once they are written."""
    language = "zh" if plan == SMALL else "en"
    found = applied(plan, lambda quote: several(quote, words), language)
    assert found.problems == ()
    lines = "\n".join(text_after(found))
    assert all(
        each in lines for each in ("A new street", words["term"], "name: Air", "price: 180000", "valid_days: 72")
    )
    quote = Quote(workbooks[plan], language)
    several(quote, words)
    again = apply_quote(quote.saved(), WORKBOOK, edited(plan_of(plan), found))
    assert (again.applied, again.files, again.problems) == (True, (), ())


@pytest.mark.parametrize("name", TOGETHER)
def test_edits_in_one_workbook(applied: Applied, name: str) -> None:
    """Each is applied as if it were alone; tests/judges has LibreOffice work out the sums."""
    found = applied(QUOTE, lambda quote: edit_together(quote, TOGETHER[name]))
    assert found.problems == ()
    assert {EDITS[each].gives for each in TOGETHER[name]} <= set(text_after(found))


@pytest.mark.parametrize("more", [0, -1, 5000])
def test_the_sum_of_listed_parts_leaves_out_an_added_charge(applied: Applied, more: int) -> None:
    """What its formula comes to with the edited inputs is no edit; an amount typed over it is, even the net amount."""
    priced = work_out(edited(plan_of(QUOTE), applied(QUOTE, EDITS["price"].edit))).quote
    listed = sum(line.amount or Decimal(0) for line in priced.lines)

    def edit(quote: Quote) -> None:
        edit_together(quote, TOGETHER["charge-added-and-price"])
        type_listed_sum(quote, float(listed + more))

    problems = applied(QUOTE, edit).problems
    assert [problem.message.partition(": ")[0] for problem in problems] == ["By part number!E18"] * (more != 0)


def test_one_row_prices_a_part_that_several_require(workbooks: dict[str, bytes], applied: Applied) -> None:
    """The sheet of part numbers asks for it in one row; the bill then has a line for each part that needs it."""

    def price(quote: Quote) -> None:
        row = max(quote.lines.values()) + 1
        for key, value in {"description": "Power cord C13 to C14", "quantity": 158, "unit_price": 8}.items():
            quote.bill.cell(row, quote.column(quote.titles[key])).value = value

    found = applied("h100-127", price)
    assert (found.problems, found.follows) == ((), ())
    assert found.after is not None
    assert found.after.amount - found.before.amount == Decimal("1428.32")
    quote = Quote(workbooks["h100-127"])
    price(quote)
    again = apply_quote(quote.saved(), WORKBOOK, edited(plan_of("h100-127"), found))
    assert (again.applied, again.files) == (True, ())


def test_a_charge_whose_row_is_deleted_goes(applied: Applied) -> None:
    """The charges behind it keep their places; without any charge the plan is to be edited by hand."""
    found = applied(QUOTE, EDITS["charge-deleted"].edit)
    assert not any("installation" in line for line in text_after(found))
    assert found.follows == ()

    def clear(quote: Quote) -> None:
        for line, row in quote.lines.items():
            if line.startswith(("service.", "software.")):
                for cell in quote.bill[row]:
                    cell.value = None

    [problem] = applied(QUOTE, clear).problems
    assert "all charges were deleted; remove `quote.charges` from the plan" in problem.message


def test_sorted_and_hidden_rows_change_nothing(applied: Applied) -> None:
    """Lines are found by their ids."""
    found = applied(QUOTE, SORTED)
    assert found.problems == ()
    assert found.files == ()


def test_what_follows_from_servers_is_said(applied: Applied) -> None:
    """The network of 264 servers, which the workbook does not have."""
    found = applied(QUOTE, EDITS["servers"].edit)
    assert "compute.nic: 1024 -> 1056" in found.follows
    assert found.after is not None
    assert found.after.amount > found.before.amount


def test_edited_networks_that_fit_the_servers_are_no_conflict(applied: Applied) -> None:
    """127 servers more, and the lines that bomgen itself works out for them; one piece less is a conflict."""
    file = plan_of(QUOTE)
    grown = {line.line.id: line.line for line in work_out(file, ["cluster.servers=264"]).quote.lines}

    def grow(quote: Quote, less: int = 0) -> None:
        for line, row in quote.lines.items():
            assert row
            if line in grown and grown[line].charge is None:
                quote.cell(line, "quantity").value = int(grown[line].quantity.value) - less * (line == "compute.nic")
                spare = grown[line].spare
                quote.cell(line, "spare").value = int(spare.value) if spare else 0

    found = applied(QUOTE, grow)
    assert found.problems == ()
    assert all("service" in line or "software" in line for line in found.follows)
    [problem] = applied(QUOTE, lambda quote: grow(quote, 1)).problems
    assert "quantity 1055 of 'compute.nic'; the plan gives 1056" in problem.message


@pytest.mark.parametrize(
    ("plan", "line", "pieces", "gives"),
    [
        ("gb300-nvl72-xdr", "server", 9, "cluster: {gpu: gb300, racks: 9}"),
        ("a100-32-zh", "server", 5, "  servers: 5"),
        ("training-and-serving", "training.server", 128, "    servers: 128"),
        ("training-and-serving", "serving.server", 20, "    servers: 20"),
        ("superpod-b200-16su", "server", 500, "cluster: {gpu: b200-sxm, servers: 500}"),
    ],
)
def test_numbers_of_servers(applied: Applied, plan: str, line: str, pieces: int, gives: str) -> None:
    """The key that the plan counts its cluster by is edited, that of the right cluster among several."""
    language = "zh" if plan.endswith("-zh") else "en"
    found = applied(plan, lambda quote: setattr(quote.cell(line, "quantity"), "value", pieces), language)
    assert found.problems == ()
    assert gives in text_after(found)


def test_a_chinese_quote(applied: Applied) -> None:
    """Labels, dates and numbers as they are written there."""

    def edit(quote: Quote) -> None:
        quote.labelled(quote.cover, "客户").value = "另一家公司：有限"
        quote.labelled(quote.cover, "日期").value = "2026年12月1日"
        quote.labelled(quote.cover, "有效期至").value = "2026年12月31日"
        quote.cell("server", "unit_price").value = 1000000
        quote.total("bom_tax_rate").value = 0.06

    found = applied("a100-32-zh", edit, "zh")
    assert found.problems == ()
    lines = text_after(found)
    for line in (
        "  customer: 另一家公司：有限",
        "  date: 2026-12-01",
        "  tax: 6%",
        "  price_book: a100-32-zh.prices.yaml",
        "  - {part: dgx-a100-640, price: 1000000}",
    ):
        assert line in lines
    assert found.after is not None
    assert found.after.amount == Decimal("4240000.00")


def test_a_tax_rate_of_several_is_set_at_its_categories() -> None:
    """Two categories have the rate that was typed, and both get it; the total is that of the workbook."""
    file = plan_of(QUOTE)
    file = file._replace(content=file.content.replace(b"tax: 13%", b"tax: {default: 13%, service: 6%, software: 6%}"))
    quote = Quote(workbook_of(file))
    quote.total("bom_tax_rate_2").value = 0.05
    found = apply_quote(quote.saved(), WORKBOOK, file)
    assert found.problems == ()
    assert "  tax: {default: 13%, service: 5%, software: 5%}" in text_after(found)


def test_values_of_another_file_are_set_in_the_plan(applied: Applied) -> None:
    """Customer, discount and price book of plans/shared stay as they are for the other plans that extend them."""

    def edit(quote: Quote) -> None:
        quote.labelled(quote.cover, "Customer").value = "Other"
        for line in quote.lines:
            if ".switch." in line:
                quote.cell(line, "unit_price").value = 26000

    found = applied("training-and-serving", edit)
    assert [name for name, _, _ in found.files] == ["training-and-serving.yaml", "training-and-serving.prices.yaml"]
    lines = text_after(found)
    assert "  customer: Other" in lines
    assert "  price_book: [../prices/example-2026q4.yaml, training-and-serving.prices.yaml]" in lines


def test_prices_in_another_currency(tmp_path: Path) -> None:
    """A price is that of the quote, whatever the price book was in; the next edit goes to the same book."""
    (tmp_path / "list.csv").write_text("part,price,currency,lead_time\ndgx-h100,260000,USD,30 days\n", "utf-8")
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "bomgen: 1\nname: rated\ncluster: {gpu: h100-sxm, servers: 2}\n# the quote\nquote:\n  currency: EUR\n"
        "  exchange: {USD: {rate: 0.9, date: 2026-11-20}}\n  price_book: list.csv # of ours\n  date: 2026-11-20\n",
        "utf-8",
    )
    for price in (230000, 220000):
        file = open_plan(str(plan), None)
        quote = Quote(workbook_of(file))
        quote.cell("server", "unit_price").value = price
        (tmp_path / WORKBOOK).write_bytes(quote.saved())
        done = CliRunner().invoke(main, ["apply", str(tmp_path / WORKBOOK), str(plan), "--write"])
        assert done.exit_code == 0, done.output
        report = work_out(open_plan(str(plan), None))
        assert report.quote.totals.amount == 2 * price
    text = plan.read_text("utf-8")
    assert "  price_book: [list.csv, plan.prices.yaml] # of ours\n" in text
    book = (tmp_path / "plan.prices.yaml").read_text("utf-8")
    assert book.endswith(
        'currency: EUR\ndate: 2026-11-20\nprices:\n  - {part: dgx-h100, price: 220000, lead_time: "30 days"}\n'
    )


def test_a_price_book_that_another_plan_names_is_left_alone(tmp_path: Path) -> None:
    """The prices of a plan of which there is a copy go to a free name, and stay in that book from then on."""
    plan, other = tmp_path / "plan.yaml", tmp_path / "copies" / "copy.yaml"
    other.parent.mkdir()
    text = "bomgen: 1\nname: NAME\ncluster: {gpu: h100-sxm, servers: 2}\nquote: {price_book: BOOK, currency: EUR}\n"
    plan.write_text(text.replace("NAME", "plan").replace("BOOK", "plan.prices.yaml"), "utf-8")
    other.write_text(text.replace("NAME", "copy").replace("BOOK", "../plan.prices.yaml"), "utf-8")
    book = tmp_path / "plan.prices.yaml"
    book.write_text("bomgen_prices: 1\ncurrency: EUR\nprices:\n  - {part: dgx-h100, price: 250000}\n", "utf-8")
    before = book.read_bytes()
    for price in (230000, 220000):
        quote = Quote(workbook_of(open_plan(str(plan), None)))
        quote.cell("server", "unit_price").value = price
        (tmp_path / WORKBOOK).write_bytes(quote.saved())
        done = CliRunner().invoke(main, ["apply", str(tmp_path / WORKBOOK), str(plan), "--write"])
        assert done.exit_code == 0, done.output
        assert work_out(open_plan(str(plan), None)).quote.totals.amount == 2 * price
    assert book.read_bytes() == before
    assert "price_book: [plan.prices.yaml, plan-2.prices.yaml]" in plan.read_text("utf-8")
    assert sorted(path.name for path in tmp_path.glob("*.prices.yaml")) == ["plan-2.prices.yaml", "plan.prices.yaml"]


def test_a_plan_without_prices_has_no_total(tmp_path: Path) -> None:
    """Two sums over nothing say nothing about the edit."""
    plan = tmp_path / "plan.yaml"
    plan.write_text("bomgen: 1\nname: plan\ncluster: {server: dgx-h200, servers: 7}\n", encoding="utf-8")
    quote = Quote(workbook_of(open_plan(str(plan), None)))
    quote.bill["E4"] = 8
    (tmp_path / WORKBOOK).write_bytes(quote.saved())
    shown = CliRunner().invoke(main, ["apply", str(tmp_path / WORKBOOK), str(plan)])
    assert "servers: 8" in shown.output
    assert "Total" not in shown.output


def test_the_command(tmp_path: Path) -> None:
    """It shows the difference, writes only when told, refuses what is old, and says all of it in its exit code."""
    shutil.copytree(CHECKOUT / "plans", tmp_path / "plans")
    shutil.copytree(CHECKOUT / "prices", tmp_path / "prices")
    (tmp_path / ".git").mkdir()
    plan = tmp_path / "plans" / f"{QUOTE}.yaml"
    plan.chmod(0o640)
    content, before = workbook_of(open_plan(str(plan), None)), plan.read_bytes()

    def run(edit: Callable[[Quote], Any], *options: str) -> Any:
        quote = Quote(content)
        edit(quote)
        (tmp_path / WORKBOOK).write_bytes(quote.saved())
        return CliRunner().invoke(main, ["apply", str(tmp_path / WORKBOOK), str(plan), *options])

    shown = run(EDITS["price"].edit)
    assert shown.exit_code == 0
    assert "server, unit price: 199000 -> 180000.5" in shown.output
    assert "Total: 76,238,178.74 -> 70,000,019.70 USD" in shown.output
    assert plan.read_bytes() == before
    conflicting = run(EDITS["two-spines-more"].edit, "--write")
    assert conflicting.exit_code == 4
    assert plan.read_bytes() == before
    written = run(EDITS["price"].edit, "--write")
    assert written.exit_code == 0
    assert (tmp_path / "plans" / f"{QUOTE}.prices.yaml").exists()
    assert plan.stat().st_mode & 0o777 == 0o640
    assert work_out(open_plan(str(plan), None)).quote.totals.amount == Decimal("70000019.70")
    again = run(EDITS["price"].edit, "--write")
    assert (again.exit_code, again.output) == (
        0,
        "The plan already has all edits of this workbook: nothing to apply.\n",
    )
    old = run(EDITS["tax"].edit, "--write")
    assert old.exit_code == 1
    assert "has changed since this workbook was written" in old.output
    forced = run(EDITS["tax"].edit, "--force")
    assert forced.exit_code == 0
    assert "server, unit price: 180000.5 -> 199000" in forced.output


def test_pieces_that_follow_from_servers_are_no_edit_of_an_older_workbook(
    workbooks: dict[str, bytes], applied: Applied
) -> None:
    """Once 264 servers are written, the network of 256 in the workbook is what was there before; 19 spines are not."""
    found = applied(QUOTE, EDITS["servers"].edit)
    file = edited(plan_of(QUOTE), found)
    quote = Quote(workbooks[QUOTE])
    EDITS["servers"].edit(quote)
    again = apply_quote(quote.saved(), WORKBOOK, file)
    assert (again.applied, again.files, again.problems) == (True, (), ())
    quote.cell("compute.switch.spine", "quantity").value = 19
    with pytest.raises(PlanErrors, match="has changed since this workbook was written"):
        apply_quote(quote.saved(), WORKBOOK, file)
    with pytest.raises(PlanErrors, match="has changed since this workbook was written"):
        apply_quote(workbooks[QUOTE], WORKBOOK, file)


def test_a_workbook_of_another_plan_is_refused(workbooks: dict[str, bytes], applied: Applied) -> None:
    """By the name in it."""
    applied(QUOTE, SORTED)
    with pytest.raises(PlanErrors, match="the workbook of the plan 'llama65b-quote', not of 'llama65b'"):
        apply_quote(workbooks[QUOTE], WORKBOOK, plan_of("llama65b"))


def test_a_comment_makes_no_state_older(workbooks: dict[str, bytes], applied: Applied) -> None:
    """A price book that gives other prices does."""
    applied(QUOTE, SORTED)
    file = plan_of(QUOTE)
    commented = file._replace(content=file.content.replace(b"# A whole quote", b"# The whole quote"))
    assert apply_quote(workbooks[QUOTE], WORKBOOK, commented).files == ()
    other = file._replace(content=file.content.replace(b", ../prices/example-optics-2026q4.yaml", b""))
    with pytest.raises(PlanErrors, match="has changed since this workbook was written"):
        apply_quote(workbooks[QUOTE], WORKBOOK, other)


def test_locked_plans_are_refused(tmp_path: Path) -> None:
    """Their prices are those of the lock."""
    plan = tmp_path / "plan.yaml"
    plan.write_text("bomgen: 1\nname: locked\ncluster: {gpu: h100-sxm, servers: 2}\n", "utf-8")
    content = workbook_of(open_plan(str(plan), None))
    assert CliRunner().invoke(main, ["lock", str(plan)]).exit_code == 0
    with pytest.raises(PlanErrors, match=r"\[apply-lock\]"):
        apply_quote(content, WORKBOOK, open_plan(str(plan), None))


def hostile() -> dict[str, bytes]:
    """Files that are no edited quote."""
    bomb = BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as package:
        package.writestr("xl/worksheets/sheet1.xml", b"0" * 10**7)
    return {
        "empty": b"",
        "text": b"bomgen: 1\n",
        "csv": b"id,Quantity\nllama65b-quote " + b"0" * 64 + b",1\n",
        "bomb": bomb.getvalue(),
        "broken": b"PK\x03\x04" + b"\xff" * 100,
    }


@pytest.mark.parametrize("name", hostile())
def test_what_is_no_quote_is_refused(name: str) -> None:
    """With an error at its place, not with a traceback."""
    with pytest.raises(PlanErrors):
        apply_quote(hostile()[name], WORKBOOK, plan_of(QUOTE))


def test_the_report_is_no_quote() -> None:
    """The engineer's workbook has no ids."""
    content = render(work_out(plan_of(QUOTE)), ["report.xlsx"])["report.xlsx"]
    with pytest.raises(PlanErrors, match="not a bomgen quote"):
        apply_quote(content, WORKBOOK, plan_of(QUOTE))


ANYTHING = st.one_of(
    st.none(),
    st.integers(-5, 10**6),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Co", "Cn")), min_size=1, max_size=20),
    st.sampled_from([10**300, 1e-300, "=1+1", "0.5", " ", "server", "x" * 40000]),
    st.sampled_from(["#N/A", "#REF!", "#VALUE!", '="a"&"b"', True, False, date(2027, 1, 31), time(12, 30)]),
)


@given(place=st.tuples(st.integers(0, 4), st.integers(1, 25), st.integers(1, 12)), value=ANYTHING)
@settings(max_examples=examples(20))
def test_nothing_is_passed_over_in_silence(applied: Applied, place: tuple[int, int, int], value: Any) -> None:
    """Whatever is typed into whatever cell: an edit, a conflict, or the same as before; never a traceback."""
    sheet, row, column = place
    changed = False

    def edit(quote: Quote) -> None:
        nonlocal changed
        cell = quote.book.worksheets[sheet % len(quote.book.worksheets)].cell(row, column)
        if not isinstance(cell, MergedCell):
            before, cell.value = cell.value, value
            changed = str(before or "").strip() != str(cell.value or "").strip()

    try:
        found = applied(SMALL, edit, "zh")
    except PlanErrors:
        return
    assert found.differences or found.problems or not changed
    assert not any(word in line for line in text_after(found) for word in ("Broken", "#N/A", "#REF!", "#VALUE!"))
    if found.files and not found.problems:
        assert found.after == work_out(edited(plan_of(SMALL), found)).quote.totals


def test_names_that_formulas_know_are_where_they_were(workbooks: dict[str, bytes], applied: Applied) -> None:
    """Without one of them, or with one that names other cells, people see another total: a conflict that names it."""
    applied(SMALL, lambda _: None, "zh")
    names = [name for name in Quote(workbooks[SMALL], "zh").book.defined_names if name.startswith("bom_")]
    assert {"bom_amounts", "bom_list", "bom_discount", "bom_tax_rate", "bom_amount"} <= set(names)

    def edit(quote: Quote, name: str, area: str | None) -> None:
        if area is None:
            del quote.book.defined_names[name]
        else:
            quote.book.defined_names[name].attr_text = area.format(bill=quote.bill.title)

    areas = [None, "#REF!", "'{bill}'!$A$1", "'{bill}'!$I$1:$I$99"]
    pairs = [*product(names, areas)] if DEEP else [*zip(names, cycle(areas), strict=False)]
    for name, area in pairs:
        found = applied(SMALL, lambda quote, name=name, area=area: edit(quote, name, area), "zh")
        assert [f"'{name}'" in problem.message for problem in found.problems] == [True], (name, found.problems)


def test_a_total_that_no_longer_follows_the_lines_is_a_conflict(applied: Applied) -> None:
    """A number of before in place of its formula is right until something else is edited."""

    def paste(quote: Quote, edits: tuple[str, ...]) -> None:
        quote.total("bom_amount").value = 76238178.74
        edit_together(quote, edits)

    assert applied(QUOTE, lambda quote: paste(quote, ())).problems == ()
    [problem] = applied(QUOTE, lambda quote: paste(quote, ("price",))).problems
    assert "the total 76238178.74 was typed" in problem.message


@pytest.mark.parametrize("value", few(["=1+1", "#DIV/0!", 123456, "x", True, None, date(2027, 1, 31)], 3))
def test_no_computed_cell_is_changed_in_silence(workbooks: dict[str, bytes], applied: Applied, value: Any) -> None:
    """Amounts of lines, totals below the bill and what the cover repeats of them."""
    applied(SMALL, lambda _: None, "zh")
    sheets = Quote(workbooks[SMALL], "zh").book.worksheets
    cells = [
        (at, cell.coordinate)
        for at, sheet in enumerate(sheets[:2])
        for row in sheet.iter_rows()
        for cell in row
        if str(cell.value).startswith("=") and "COUNT" not in cell.value
    ]
    lines = Quote(workbooks[SMALL], "zh").lines.values()
    empty = range(max(lines) + 1, max(lines) + 4)
    for at, place in cells[::4]:
        if at == 1 and int("".join(filter(str.isdigit, place))) in empty and value is None:
            continue  # an empty line without its formula counts as little as with it
        found = applied(
            SMALL, lambda quote, at=at, place=place: setattr(quote.book.worksheets[at][place], "value", value), "zh"
        )
        assert found.problems, place


@given(
    path=st.sampled_from(PLANS),
    at=st.integers(0, 100),
    price=st.decimals("0.01", 10**6, places=2),
    share=st.sampled_from([0, 0.1, 0.125, 0.333]),
    tax=st.sampled_from([0, 0.07, 0.19]),
)
@settings(max_examples=examples(6))
def test_the_rebuilt_quote_has_the_total_of_the_workbook(
    path: Path, at: int, price: Decimal, share: float, tax: float
) -> None:
    """Of any plan, with a price of any part, a discount and a tax; lines of the plan that say no such thing stay."""
    file = open_plan(str(path), None)
    report = work_out(file)
    language = report.plan.quote.language
    quote = Quote(workbook_of(file), language)
    lines = [line for line in report.quote.lines if line.line.names and not line.line.in_stock and not line.line.charge]
    chosen = lines[at % len(lines)].line
    for line in lines:
        if line.line.names[0] == chosen.names[0]:
            quote.cell(line.line.id, "unit_price").value = float(price)
    quote.cell(chosen.id, "discount").value = share
    quote.total("bom_tax_rate").value = tax
    found = apply_quote(quote.saved(), WORKBOOK, file)
    if found.problems:
        # Prices decide which module and cable are taken: then the plan cannot be as the workbook is, and says so.
        assert all("the plan comes to" in problem.message for problem in found.problems), found.problems
        return
    net = Decimal(0)
    for line in report.quote.lines:
        same = line.line.names and line.line.names[0] == chosen.names[0] and not line.line.in_stock
        unit = price if same and not line.line.charge else line.unit.amount
        if unit is None:
            continue
        if line.line.charge and line.line.charge.share:
            return
        off = (
            Decimal(str(share))
            if line.line.id == chosen.id
            else Decimal(line.discount.numerator) / line.discount.denominator
        )
        net += (line.line.pieces * unit * (1 - off)).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    total = net + (net * Decimal(str(tax))).quantize(Decimal("0.01"), "ROUND_HALF_UP")
    assert found.after is not None
    assert found.after.amount == total
    before = file.content.decode("utf-8").splitlines()
    after = edited(file, found).content.decode("utf-8").splitlines()
    gone = [line for line in before if line not in after]
    assert all(any(word in line for word in ("discount", "tax", "price_book", "quote")) for line in gone), gone


def test_the_price_book_beside_a_plan_is_checked_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bomgen check plans/*.yaml` meets the books that `apply` writes there; no other command takes one for a plan."""
    monkeypatch.chdir(tmp_path)
    Path("plan.yaml").write_text("bomgen: 1\nname: p\ncluster: {gpu: h100-sxm, servers: 2}\n", "utf-8")
    book = Path("plan.prices.yaml")
    book.write_text("bomgen_prices: 1\ncurrency: EUR\nprices:\n  - {part: dgx-h100, price: 220000}\n", "utf-8")
    done = CliRunner().invoke(main, ["check", "plan.yaml", "plan.prices.yaml"])
    assert (done.exit_code, done.stdout.splitlines()[1:]) == (0, ["plan.prices.yaml: a price book of 1 price"])
    book.write_text("bomgen_prices: 1\nprices:\n  - {part: dgx-h100, price: 220000}\n", "utf-8")
    done = CliRunner().invoke(main, ["check", "plan.yaml", "plan.prices.yaml"])
    assert done.exit_code == 1
    assert "plan.prices.yaml:3:5: error: no currency for dgx-h100" in done.stderr
    assert CliRunner().invoke(main, ["build", "plan.prices.yaml"]).exit_code == 1
