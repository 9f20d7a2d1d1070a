"""What `bomgen apply` offers where a plan cannot take an edit: each command was tried and gives what was typed."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from workbook_edits import WORKBOOK, Quote, workbook_of

sys.path.append(str(Path(__file__).parents[1] / "laws"))

from depth import DEEPER

from bomgen.apply import judgement
from bomgen.apply.application import Application, apply_quote
from bomgen.pricing.bill_line import Line
from bomgen.results.result import Report
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile, open_plan

OFFER = re.compile(r"`bomgen build (\S+) --set (\S+)`(, bought as spares instead)? \(([^)]*)\)")
SPARE_ON_SPINES = """\
bomgen: 1
name: edited
cluster: {server: dgx-h200, servers: 7}
fabrics: {compute: {switch: qm9700, topology: rail-optimized, build_out: full}}
"""
BOOK = """\
bomgen_prices: 1
currency: USD
prices: [{part: qm9700, price: 25000}, {part: mma4z00-ns, price: 879}, {part: dgx-h100, price: 250000}]
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a price book."""
    place = tmp_path_factory.mktemp("offers")
    (place / "book.yaml").write_text(BOOK, "utf-8")
    return place


def plan_in(folder: Path, text: str) -> PlanFile:
    """A plan of a text."""
    (folder / "edited.yaml").write_text(text, "utf-8")
    return open_plan(str(folder / "edited.yaml"), None)


def typed(file: PlanFile, line: str, key: str, value: Any) -> Application:
    """What becomes of one cell of a plan's workbook that somebody typed over."""
    quote = Quote(workbook_of(file))
    quote.cell(line, key).value = value
    return apply_quote(quote.saved(), WORKBOOK, file)


def spares_of_part(report: Report, part: str | None) -> int:
    """The spare pieces of a part on all its lines."""
    return sum(int(each.spare.value) for each in report.bill.lines if each.part == part and each.spare)


def bought(report: Report) -> dict[str, int]:
    """The pieces of each part, installed and spare."""
    found: dict[str, int] = {}
    for line in report.bill.lines:
        found[line.part or line.id] = found.get(line.part or line.id, 0) + line.pieces
    return found


def pieces(report: Report) -> dict[str, tuple[int, int]]:
    """Installed and spare pieces by the ids of lines."""
    return {
        line.id: (int(line.quantity.value), int(line.spare.value) if line.spare else 0) for line in report.bill.lines
    }


def test_a_spare_on_any_line_of_a_part_is_an_edit(folder: Path) -> None:
    """One spare at the spines makes 13 of 12 switches: `spares.switch: 1`, which the bill has at the leaves."""
    file = plan_in(folder, SPARE_ON_SPINES)
    found = typed(file, "compute.switch.spine", "spare", 1)
    assert (found.problems, found.follows) == ((), ())
    [(_, _, after)] = found.files
    assert after.decode("utf-8") == f"{SPARE_ON_SPINES}spares: {{switch: 1}}\n"
    assert "(listed at 'compute.switch.leaf', the first line of the part)" in found.differences[0]
    quote = Quote(workbook_of(file))
    quote.cell("compute.switch.spine", "spare").value = 1
    again = apply_quote(quote.saved(), WORKBOOK, file._replace(content=after))
    assert (again.applied, again.files, again.problems) == (True, (), ())


def test_the_number_of_designs_that_are_tried_is_bounded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many cells are typed over: three are searched, each by at most `MOST_TRIALS` designs."""
    file = plan_in(folder, SPARE_ON_SPINES)
    quote = Quote(workbook_of(file))
    for line in quote.lines:
        if line.startswith("compute."):
            quote.cell(line, "quantity").value += 3
    tried = list[Any]()
    build = judgement.work_out_variant
    monkeypatch.setattr(judgement, "work_out_variant", lambda *given: tried.append(given) or build(*given))
    found = apply_quote(quote.saved(), WORKBOOK, file)
    assert len(found.problems) > 3
    assert 0 < len(tried) <= 3 * judgement.MOST_TRIALS == 39


PLANS = st.builds(
    lambda server, servers, topology, full, spares, priced: (
        f"bomgen: 1\nname: edited\ncluster: {{server: {server}, servers: {servers}}}\n"
        f"fabrics: {{compute: {{switch: qm9700, topology: {topology}{', build_out: full' if full else ''}}}}}\n"
        + (f"spares: {{{spares}}}\n" if spares else "")
        + ("quote: {price_book: book.yaml, discount: {switch: 10%}}\n" if priced else "")
    ),
    server=st.sampled_from(["dgx-h100", "dgx-h200"]),
    servers=st.integers(1, 40),
    topology=st.sampled_from(["fat-tree", "rail-optimized"]),
    full=st.booleans(),
    spares=st.sampled_from(["", "switch: 1", "transceiver: 2%", "switch: 2, transceiver: 2%, cable: 5%, server: 1"]),
    priced=st.booleans(),
)


@given(text=PLANS, at=st.integers(0, 30), key=st.sampled_from(["quantity", "spare"]), more=st.integers(-3, 9))
@settings(max_examples=10 * DEEPER)
def test_what_is_offered_gives_what_was_typed(folder: Path, text: str, at: int, key: str, more: int) -> None:
    """For any pieces typed on any line: each command is run; it gives them, and says what else it changes and costs."""
    file = plan_in(folder, text)
    before = work_out(file)
    lines = [line.line for line in before.quote.lines]
    line = lines[at % len(lines)]
    now = pieces(before)[line.id][key == "spare"]
    value = max(now + more, 0)
    found = typed(file, line.id, key, value)
    if not found.problems:
        after = work_out(after_writing(file, found))
        wanted = spares_of_part(before, line.part) + value - now
        given = spares_of_part(after, line.part) if key == "spare" else pieces(after)[line.id][0]
        assert given == (wanted if key == "spare" else value)
        others = {part for part, number in bought(before).items() if bought(after).get(part) != number} - {line.part}
        assert not others or found.follows
        return
    if value == now:
        raise AssertionError(found.problems)
    for plan, setting, how, note in offers(found):
        assert plan == file.name
        after = work_out(file, [setting])
        check_offer(before, after, line, key, value, bool(how))
        check_note(before, after, line, note)


def after_writing(file: PlanFile, found: Application) -> PlanFile:
    """The plan as it stands after what was found is written."""
    return file._replace(content=next((after for _, _, after in found.files), file.content))


def offers(found: Application) -> Iterator[tuple[str, str, str, str]]:
    """The plan, the setting, how it gives the pieces, and the note, of each command that conflicts name."""
    for problem in found.problems:
        named = OFFER.findall(problem.message)
        assert len(named) == problem.message.count("bomgen build")
        yield from named


def check_offer(before: Report, after: Report, line: Line, key: str, value: int, instead: bool) -> None:
    """That a command gives what was typed."""
    now = pieces(before)[line.id][key == "spare"]
    if key == "spare":
        assert spares_of_part(after, line.part) == spares_of_part(before, line.part) + value - now
    elif instead:
        part = line.part or line.id
        assert bought(after) == bought(before) | {part: bought(before)[part] + value - now}
    else:
        assert pieces(after)[line.id][0] == value


def check_note(before: Report, after: Report, line: Line, note: str) -> None:
    """That the note of a command names the lines that it changes, and the money."""
    own = {each.id for each in after.bill.lines if each.part == line.part}
    was, now = pieces(before), pieces(after)
    changed = {each for each in was.keys() | now.keys() if was.get(each) != now.get(each)} - own
    named = note.partition("also changes ")[2].partition("; total")[0]
    more = re.search(r" and (\d+) more", named)
    shown = [each.split(" ")[0] for each in named.partition(" and ")[0].split(", ") if each]
    assert changed <= set(shown) or more
    assert len(changed) <= len(shown) + int(more[1] if more else 0)
    totals = before.quote.totals, after.quote.totals
    if any(each.priced_lines for each in totals):
        amounts = [Decimal(each.replace(",", "")) for each in re.findall(r"[\d,]+\.\d\d", note)]
        assert amounts == [each.amount for each in totals]
    else:
        assert "total" not in note
