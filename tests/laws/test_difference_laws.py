"""Laws of comparisons, over bills that nobody wrote: whatever two bills hold, these hold."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

from bills_by_hand import bom, line
from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language
from bomgen.documents.diff.contents import review_document
from bomgen.documents.diff.data import to_data
from bomgen.documents.diff.difference import Difference, compare
from bomgen.documents.diff.side import Item, bill_in, compared_result_of
from bomgen.output.markdown_html import comment
from bomgen.output.terminal import text

IDS = st.sampled_from(
    [f"{fabric}.{use}" for fabric in ("compute", "storage") for use in ("leaf", "spine", "cable", "m")]
)
PRICES = st.one_of(st.none(), st.decimals(0, 10**6, places=2).map(str))
RATES = st.sampled_from(["0.9", "1.08", "1.1", "7.123456"])


@st.composite
def lines(draw: st.DrawFn, id: str) -> dict[str, Any]:
    """A line that a build could have written."""
    values: dict[str, Any] = {
        "spare": draw(st.integers(0, 3)),
        "discount": draw(st.sampled_from(["0", "0.1", "0.15", "1"])),
        "category": draw(st.sampled_from(["switch", "cable", "service"])),
        "part": draw(st.sampled_from(["p", "q", None])),
        "description": draw(st.sampled_from(["10 m", "20 m"])),
        "fabric": id.partition(".")[0],
        "role": id.partition(".")[2],
    }
    unit = draw(PRICES)
    if unit is not None and draw(st.booleans()):
        rate = draw(RATES)
        values |= {"original_price": unit, "original_currency": "EUR", "exchange_rate": rate}
        unit = str((Decimal(unit) * Decimal(rate)).quantize(Decimal("0.01"), "ROUND_HALF_UP"))
    return line(id, draw(st.integers(0, 2000)), unit, **values)


@st.composite
def bills(draw: st.DrawFn) -> dict[str, Any]:
    """A bom.json of a few lines in any order."""
    ids = draw(st.lists(IDS, unique=True, max_size=6))
    return bom(*(draw(lines(id)) for id in ids), tax=draw(st.decimals(0, 999, places=2).map(str)))


def compared(old: dict[str, Any], new: dict[str, Any]) -> Difference:
    """What changed from one bill to the other."""
    return compare(compared_result_of(old, "old"), compared_result_of(new, "new"))


def applied(items: tuple[Item, ...], found: Difference) -> set[Item]:
    """The lines of the old bill after what the comparison says is taken away and added."""
    result = set(items) - {pair.old for pair in found.pairs if pair.old}
    return result | {pair.new for pair in found.pairs if pair.new}


@given(bills())
def test_a_bill_is_equal_to_itself(bill: dict[str, Any]) -> None:
    """Nothing changed between a bill and itself."""
    found = compared(bill, bill)
    assert not found.changed
    assert len(bill["lines"]) == found.unchanged


@given(bills(), bills())
def test_the_changes_lead_from_old_to_new(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Plus and minus lines, applied to the old bill, give the new one; each line is in at most one pair."""
    found = compared(old, new)
    assert set(found.new.items) == applied(found.old.items, found)
    olds = [pair.old.id for pair in found.pairs if pair.old]
    news = [pair.new.id for pair in found.pairs if pair.new]
    assert (len(set(olds)), len(set(news))) == (len(olds), len(news))


@given(bills(), bills())
def test_the_money_adds_up_exactly(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The parts of the change are the change, for the total and for every line, and nothing is left unexplained."""
    found = compared(old, new)
    assert found.money
    change = Decimal(new["totals"]["amount"]) - Decimal(old["totals"]["amount"])
    assert change == found.money.change == sum(found.money.parts.values())
    assert 0 == found.money.parts["other"]
    data = to_data(found, [])
    assert Decimal(data["money"]["change"]) == sum(map(Decimal, data["money"]["parts"].values()))
    for each in data["lines"]:
        if each["amount"] is not None:
            assert Decimal(each["amount"]) == sum(map(Decimal, each["parts"].values()))
        before, after = (Decimal((each[key] or {}).get("amount") or 0) for key in ("old", "new"))
        assert after - before == Decimal(each["amount"] or 0)


@given(bills(), bills())
def test_back_is_the_reverse_of_there(old: dict[str, Any], new: dict[str, Any]) -> None:
    """The other way round every change is its own opposite."""
    there, back = compared(old, new), compared(new, old)
    assert {(pair.old, pair.new) for pair in there.pairs} == {(pair.new, pair.old) for pair in back.pairs}
    assert there.money
    assert back.money
    assert there.money.change == -back.money.change


@given(bills(), bills())
def test_every_form_can_be_written(old: dict[str, Any], new: dict[str, Any]) -> None:
    """Text, Markdown and JSON are written of any comparison."""
    found = compared(old, new)
    for words in map(language, ("en", "zh")):
        assert text(review_document(found, words), words, every=True)
        assert comment(review_document(found, words, ranked=True), words)
    assert json.dumps(to_data(found, []), allow_nan=False)


JUNK = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=5), inner, max_size=3)),
    max_leaves=8,
)


@given(bills(), st.data())
def test_no_file_gives_a_traceback(bill: dict[str, Any], data: st.DataObject) -> None:
    """A bom.json with anything in any place is compared, or refused with a problem."""
    junk = {**bill}
    for _ in range(data.draw(st.integers(1, 3))):
        place: Any = junk
        key = data.draw(st.sampled_from(sorted(place)))
        if key == "lines" and place["lines"] and isinstance(place["lines"], list) and data.draw(st.booleans()):
            place["lines"] = [dict(each) if isinstance(each, dict) else each for each in place["lines"]]
            if isinstance(place["lines"][0], dict):
                place = place["lines"][0]
                key = data.draw(st.sampled_from(sorted(place)))
        elif isinstance(place[key], dict) and place[key] and data.draw(st.booleans()):
            place[key] = dict(place[key])
            place = place[key]
            key = data.draw(st.sampled_from(sorted(place)))
        place[key] = data.draw(JUNK)
    try:
        read = bill_in(json.dumps(junk).encode(), "bom.json")
        assert read is not None
        found = compare(compared_result_of(bill, "old"), compared_result_of(read, "new"))
    except PlanErrors:
        return
    for words in map(language, ("en", "zh")):
        assert text(review_document(found, words), words, every=True)
        assert comment(review_document(found, words, ranked=True), words)
    assert to_data(found, [])
