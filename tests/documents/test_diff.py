"""What changed between two results: identities of lines, the split of the money, thresholds, and what is written."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from bills_by_hand import bom, line, side

from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import Language, language
from bomgen.core.yaml_source import override, read
from bomgen.documents.diff.contents import review_document
from bomgen.documents.diff.data import headline, limit, passed, to_data
from bomgen.documents.diff.difference import compare
from bomgen.documents.diff.matching import changed_keys
from bomgen.documents.diff.side import DERIVATIONS, bill_in, compared_result_of
from bomgen.output.markdown_html import MOST_LINES, comment, safe
from bomgen.output.terminal import text as text_of

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "schemas" / "diff.schema.json").read_text("utf-8"))


ENGLISH = language("en")


def shown(found: Any, words: Language = ENGLISH) -> str:
    """The text of a comparison."""
    return text_of(review_document(found, words), words).decode()


def markdown(found: Any) -> str:
    """The comment of a comparison."""
    return comment(review_document(found, ENGLISH, ranked=True), ENGLISH)


# lines --------------------------------------------------------------------------------------------------------------


def test_one_switch_more_is_one_line() -> None:
    """Adding a switch changes the line of that switch and no other."""
    rest = [line(f"compute.cable.{number}", 100, "30") for number in range(20)]
    found = compare(
        side(*rest, line("compute.switch.leaf", 4, "25000")), side(line("compute.switch.leaf", 5, "25000"), *rest)
    )
    assert ["compute.switch.leaf"] == [pair.item.id for pair in found.pairs]
    assert (20, Decimal(25000)) == (found.unchanged, found.money and found.money.change)


def test_another_part_is_minus_and_plus() -> None:
    """Another part under the same id is a line that is gone and one that is new, one below the other."""
    old = line("compute.switch.leaf", 4, "10", part="qm9700")
    new = line("compute.switch.leaf", 4, "12", part="qm9790")
    found = compare(side(line("a", 1, "1"), old), side(line("a", 1, "1"), new))
    assert [("removed", "qm9700"), ("added", "qm9790")] == [(pair.change, pair.item.part) for pair in found.pairs]
    assert "compute.switch.leaf" == found.pairs[0].replaced_by == found.pairs[1].replaces


def test_a_generic_cable_of_another_length_is_another_cable() -> None:
    """The length of a cable without a part number stands in its description alone."""
    base = {"category": "cable", "sku": None, "part": "cat6-rj45"}
    old, new = (line("oob.cable", 8, **base, description=f"patch cable, {length} m") for length in (10, 20))
    assert ["removed", "added"] == [pair.change for pair in compare(side(old), side(new)).pairs]


def test_a_cable_that_becomes_one_of_several_lengths_stays_itself() -> None:
    """An id that only got the part behind it names the same cables."""
    base = {"category": "cable", "fabric": "compute", "role": "server-leaf"}
    old = line("compute.cable.server-leaf", 100, part="n030", description="trunk, 30 m", **base)
    new = [
        line("compute.cable.server-leaf.n010", 40, part="n010", description="trunk, 10 m", **base),
        line("compute.cable.server-leaf.n030", 60, part="n030", description="trunk, 30 m", **base),
    ]
    found = compare(side(old), side(*new))
    changes = {pair.item.part: (pair.change, pair.pieces) for pair in found.pairs}
    assert {"n010": ("added", 40), "n030": ("changed", -40)} == changes


def test_a_renamed_fabric_keeps_its_lines() -> None:
    """Lines of a fabric that is called otherwise are the same lines."""
    fabric = {"role": "compute", "topology": "fat-tree", "switches": {"leaf": 4}}
    old = side(line("compute.switch.leaf", 4, "10", fabric="compute"), fabrics={"compute": fabric})
    new = side(line("gpu-net.switch.leaf", 4, "10", fabric="gpu-net"), fabrics={"gpu-net": fabric})
    found = compare(old, new)
    assert {"compute": "gpu-net"} == found.names.renamed
    assert ["renamed"] == [pair.change for pair in found.pairs]
    assert () == found.rows
    assert "was compute" in shown(found)


def test_order_of_lines_says_nothing() -> None:
    """The same lines in another order are no change."""
    lines = [line(f"a.{number}", number + 1, "3") for number in range(9)]
    assert not compare(side(*lines), side(*reversed(lines))).changed


# money --------------------------------------------------------------------------------------------------------------


def test_quantity_price_discount_and_rate_are_told_apart() -> None:
    """10 pieces at EUR 100 and 1.10 become 12 at EUR 110 and 1.20, less 10 %; the steps are worked out by hand.

    1100.00, 12 x 110 = 1320.00, 12 x 121 = 1452.00, less a tenth 1306.80, 12 x 132 less a tenth 1425.60.
    """
    old = line("a", 10, "110.00", original_price="100", original_currency="EUR", exchange_rate="1.10")
    new = line("a", 12, "132.00", discount="0.1", original_price="110", original_currency="EUR", exchange_rate="1.20")
    found = compare(side(old), side(new))
    assert found.money
    parts = {name: str(amount) for name, amount in found.money.parts.items() if amount}
    assert {"quantity": "220.00", "price": "132.00", "discount": "-145.20", "exchange_rate": "118.80"} == parts
    assert Decimal("325.60") == found.money.change
    assert {"EUR": (Decimal("1.10"), Decimal("1.20"))} == found.rates


def test_a_discount_that_makes_up_for_a_price() -> None:
    """Twice the price less half of it costs the same, yet both are seen: 4 x 100 = 400, 800, less a half 400."""
    found = compare(side(line("a", 4, "100.00")), side(line("a", 4, "200.00", discount="0.5")))
    assert found.money
    assert {"price": 400, "discount": -400} == {name: part for name, part in found.money.parts.items() if part}
    assert 0 == found.money.change
    data = to_data(found, [])
    assert {"price": "400.00", "discount": "-400.00"} == data["lines"][0]["parts"]


def test_only_the_rate_changed() -> None:
    """Where a price stays in its own currency, all of the change is the exchange rate's."""
    old, new = (
        line("a", 3, unit, original_price="50", original_currency="EUR", exchange_rate=rate)
        for unit, rate in (("54.00", "1.08"), ("55.00", "1.10"))
    )
    found = compare(side(old), side(new))
    assert found.money
    assert {"exchange_rate": Decimal("3.00")} == {name: part for name, part in found.money.parts.items() if part}
    assert "exchange rate (1 EUR: 1.08 -> 1.10)" in shown(found)


def test_charges_and_tax_stand_apart() -> None:
    """Freight is a charge whatever made it dearer; tax is what the totals say."""
    old = side(line("a", 1, "100.00"), line("service.freight", 1, "1.00", category="service"), tax="10.10")
    new = side(line("a", 2, "100.00"), line("service.freight", 1, "2.00", category="service"), tax="20.20")
    found = compare(old, new)
    assert found.money
    parts = {name: part for name, part in found.money.parts.items() if part}
    assert {"quantity": 100, "charges": 1, "tax": Decimal("10.10")} == parts


def test_lines_that_lose_and_gain_a_price() -> None:
    """A missing price is neither nought nor a change of price."""
    found = compare(side(line("a", 2, "5.00"), line("b", 1)), side(line("a", 2), line("b", 1, "7.00")))
    assert found.money
    parts = {name: part for name, part in found.money.parts.items() if part}
    assert {"no_longer_priced": -10, "newly_priced": 7} == parts
    assert "no longer priced, was 5.00" in shown(found)
    assert "now priced: 7.00" in shown(found)
    assert "lines without a price: 1 of 2 before, 1 of 2 after" in shown(found)


def test_other_currencies_are_not_subtracted() -> None:
    """Totals in two currencies stand side by side."""
    found = compare(side(line("a", 2, "5.00")), side(line("a", 3, "5.00"), currency="EUR"))
    assert found.money is None
    assert "10.00 USD -> 15.00 EUR" in headline(found, ENGLISH)
    assert "amounts are not subtracted" in shown(found)
    assert to_data(found, [])["money"] is None


def test_a_bill_that_does_not_add_up() -> None:
    """What a file's lines do not explain is said, not hidden in a part."""
    data = bom(line("a", 1, "5.00"))
    data["totals"] = {**data["totals"], "amount": "9.00"}
    found = compare(side(line("a", 1, "5.00")), compared_result_of(data, "new"))
    assert found.money
    assert {"other": Decimal("4.00")} == {name: part for name, part in found.money.parts.items() if part}


# thresholds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("most", "units", "passes"),
    [
        ("5%", ("100.00", "105.00"), False),
        ("5%", ("100.00", "105.01"), True),
        ("5", ("100.00", "105.00"), False),
        ("4.99", ("100.00", "105.00"), True),
        ("0%", ("100.00", "90.00"), False),
        ("10 %", ("0.00", "1.00"), True),
    ],
)
def test_thresholds(most: str, units: tuple[str, str], passes: bool) -> None:
    """A limit is a share of the old total or an amount, and what reaches it has not passed it."""
    found = compare(*(side(line("a", 1, unit)) for unit in units))
    bound = limit(most)
    assert bound
    assert passes == bool(list(passed(found, [bound], False)))


@pytest.mark.parametrize("text", ["", "5 percent", "-1", "1e9", "5%%", "NaN", "1" * 40])
def test_what_is_no_threshold(text: str) -> None:
    """A limit is a number, with a per cent sign or without."""
    assert limit(text) is None


def test_a_threshold_that_cannot_be_judged_is_passed() -> None:
    """More pieces without a price may cost anything; as many as before cost no more than before."""
    bound = limit("1000%")
    assert bound
    for old, new, reason in (
        (side(line("a", 1)), side(line("a", 2)), "without a price (a)"),
        (side(line("a", 1, "1.00")), side(line("a", 1)), "without a price (a)"),
        (side(), side(line("a", 1)), "without a price (a)"),
        (side(line("a", 1, "1.00")), side(line("a", 1, "1.00"), currency="EUR"), "in USD and EUR"),
    ):
        assert reason in next(passed(compare(old, new), [bound], False))
    same = side(line("a", 1), line("b", 1, "1.00"))
    assert [] == list(passed(compare(same, side(line("a", 1), line("b", 2, "1.00"))), [bound], False))


def test_any_change_may_be_one_too_many() -> None:
    """What fails on a change passes where there is none."""
    one = side(line("a", 1, "1.00"))
    assert [] == list(passed(compare(one, one), [], True))
    assert ["something changed"] == list(passed(compare(one, side(line("a", 2, "1.00"))), [], True))


# the plan -----------------------------------------------------------------------------------------------------------


def test_keys_of_the_plan_in_its_own_words() -> None:
    """Values are as they were written, with the line of the new one; named entries of a list keep their identity."""
    old = read("a: {b: 20 days, c: 0.08}\nlist:\n- {name: x, n: 1}\n- {name: y, n: 2}\n", "old.yaml")
    new = read("a: {b: 10 days, d: [1, 2]}\nlist:\n- {name: y, n: 2}\n- {name: x, n: 3}\n", "new.yaml")
    assert [
        ("a.b", "20 days", "10 days", "new.yaml:1"),
        ("a.d", None, "[1, 2]", "new.yaml:1"),
        ("a.c", "0.08", None, "old.yaml:1"),
        ("list.1.n", "1", "3", "new.yaml:4"),
    ] == [tuple(each) for each in changed_keys(old, new)]


def test_a_setting_is_said_to_be_one() -> None:
    """A value that an option laid over the plan has no line of the plan."""
    source = read("a: {b: 1}\n", "plan.yaml")
    assert ["--set"] == [each.place for each in changed_keys(source, override(source, ["a.b=2"]))]


@pytest.mark.parametrize(
    "place",
    [
        *("quote: {cost_book: SECRET}", "a: [{set: {quote.cost_book: SECRET}}]"),
        *("quote: {sell: {margin: SECRET}}", "quote: {a: [{set: {quote.sell.margin: SECRET}}]}"),
    ],
)
def test_the_cost_book_is_nobodys_business(place: str) -> None:
    """What the seller pays is neither compared nor named, wherever a plan says it."""
    old, new = read(f"{place}\n", "a"), read(f"{place.replace('SECRET', 'OTHER')}\n", "b")
    assert [] == changed_keys(old, new)
    assert [] == changed_keys(read("a: 1\nquote: {}\n", "a"), read("a: 1\nquote: {cost_book: SECRET}\n", "b"))
    whole = changed_keys(read("c: 1\n", "a"), read(f"c: 1\nb: {{{place}, x: 1}}\n", "b"))
    assert "SECRET" not in str(whole)
    assert "cost" not in str(whole)


# reading ------------------------------------------------------------------------------------------------------------


def test_an_older_bill_can_be_read() -> None:
    """What newer versions added may be missing, and the exchange rate is then said to be part of the price."""
    newer = ("in_stock", "original_price", "original_currency", "exchange_rate")
    old = bom(line("a", 1, "5.00"))
    old["lines"] = [{key: value for key, value in each.items() if key not in newer} for each in old["lines"]]
    for key in ("checks", "version"):
        del old[key]
    found = compare(compared_result_of(old, "old.json"), side(line("a", 1, "6.00"), name="new.json"))
    assert found.money
    assert {"price": 1} == {name: part for name, part in found.money.parts.items() if part}
    assert any("counted as price" in note for note in found.notes)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"bomgen": 2}, "a bom.json of format 2, but this bomgen reads format 1; install a newer one"),
        ({"bomgen": "x"}, '`bomgen` is "x", not 1; use a bom.json'),
        ({"bomgen": True}, "`bomgen` is true, not 1; use a bom.json"),
        ({"lines": {}}, "`lines` is not a list"),
        ({"lines": [1]}, "`lines.0` is not a mapping"),
        ({"lines": [line("a", 1), line("a", 2)]}, "the same id"),
        ({"lines": [line("a", -1)]}, "no whole number"),
        ({"lines": [line("a", 1) | {"quantity": 1.5}]}, "no whole number"),
        ({"lines": [line("a", 1, amount="1e5")]}, "no decimal number"),
        ({"lines": [line("a", 1) | {"part": 3}]}, "is no text"),
        ({"totals": None}, "`totals` is not a mapping"),
        ({"fabrics": [1]}, "`fabrics` is not a mapping"),
        ({"plan": {"name": 1}}, "`plan.name` is not text"),
        ({"checks": 1}, "`checks` is not a list"),
        ({"alternatives": [{"name": "x"}]}, "`totals` is not a mapping"),
    ],
)
def test_a_bill_that_is_none_is_an_error(change: dict[str, Any], said: str) -> None:
    """What is wrong with a bom.json is said in one problem with a remedy."""
    with pytest.raises(PlanErrors) as caught:
        compared_result_of({**bom(line("a", 1)), **change}, "bad.json")
    assert said in str(caught.value)
    assert str(caught.value).startswith("bad.json:1:1: error: ")


@pytest.mark.parametrize(
    "content", [b'{"bomgen": 1, "lines": [', b"{" * 100_000, b'{"a": 1e999}', b'{"a": NaN}', b'{"\xff": 1}']
)
def test_broken_json(content: bytes) -> None:
    """A file called .json that is no JSON is said to be none; under another name it may be YAML."""
    with pytest.raises(PlanErrors) as caught:
        bill_in(content, "bom.json")
    assert "error: not valid JSON" in str(caught.value)
    assert bill_in(content, "plan.yaml") is None


def test_derivations_give_units_whatever_the_layout() -> None:
    """Whatever the layout, the numbers and units of a bill are those of the same data read whole."""
    derivation = {"value": 8, "unit": "GPU", "formula": "n", "inputs": {"n": {"value": 8, "unit": "count"}}}
    data = bom(line("a", 1, "5.00")) | {DERIVATIONS: {"cluster.gpus": derivation}}
    written = json.dumps(data, indent=1)
    odd = [
        written.replace('"unit": "count"', '"unit": "count", "storage": 1'),
        written.replace('"inputs": {', '"in\\u0070uts": {'),
        written.replace('\n "lines"', '\n "derivations": {\n  "x": {}\n }, "lines"'),
        written.replace('{\n  "cluster.gpus"', '{\n }, "storage": {"a": 1}, "derivations": {\n  "cluster.gpus"'),
        written.replace('\n "lines"', '\n "more": {\n "derivations": {\n "b": 1\n }\n },\n "lines"'),
    ]
    for text in (written, json.dumps(data), json.dumps(data, indent=2), *odd):
        whole = json.loads(text)
        assert whole == bill_in(text.encode(), "x"), text
        if isinstance(whole["totals"], dict):
            found = compared_result_of(bill_in(text.encode(), "x") or {}, "x")
            assert "GPU" == found.units.get("cluster.gpus")
            assert found.units.get("cluster.servers") is None


def test_a_plan_in_json_is_no_bill() -> None:
    """JSON is YAML: a plan may be written in it."""
    assert bill_in(b'{"bomgen": 1, "name": "x", "cluster": {}}', "plan.json") is None


# what is written ----------------------------------------------------------------------------------------------------

HOSTILE = (
    "<script>alert(1)</script> | `x` **b** [l](http://evil.example) @team #1 \x1b[31m\r\n\n# www.evil.example \u202e"
)


def hostile() -> Any:
    """A comparison full of text that wants to be something else."""
    new = line("a", 2, "6.00", description=HOSTILE, part=HOSTILE, sku=HOSTILE, fabric=HOSTILE)
    fabrics = {HOSTILE: {"role": "compute", "topology": HOSTILE, "switches": {"leaf": 1}}}
    checks = [{"id": HOSTILE, "status": "warn", "message": HOSTILE, "path": ""}]
    return compare(side(line("a", 1, "5.00")), side(new, name=HOSTILE, fabrics=fabrics, checks=checks))


def test_hostile_text_stays_text() -> None:
    """Names neither mark anything up in Markdown nor move the cursor of a terminal."""
    written = markdown(hostile())
    for mark in ("<script", "http://", "**b**", "](", "`x`", "@team", " #1", "www.evil", "\x1b", "\r", "\u202e"):
        assert mark not in written
    assert all(text.isprintable() for text in shown(hostile()).split("\n"))


def test_markdown_text_reads_as_it_was() -> None:
    """What needs no escape gets none."""
    assert "in_band.switch.leaf 24 → 32, rack, 48 U" == safe("in_band.switch.leaf 24 -> 32, rack, 48 U")


def test_markdown_fits_a_review_comment() -> None:
    """However much changed, sixty lines are seen and the comment is no longer than a code host takes."""
    old = [line(f"a.{number}", 1, "1.00", description="d" * 40) for number in range(5000)]
    new = [line(f"a.{number}", 2, "1.50", discount="0.1", description="d" * 40) for number in range(5000)]
    fabrics = [
        {
            f"f{number}": {"role": f"r{number}", "topology": "x", "switches": {"leaf": more + number}}
            for number in range(30)
        }
        for more in (1, 2)
    ]
    sections = {"site": {"racks": 1, "power_w": 5}}, {"site": {"racks": 2, "power_w": 6}}
    found = compare(
        side(*old, tax="1", fabrics=fabrics[0], **sections[0]), side(*new, tax="2", fabrics=fabrics[1], **sections[1])
    )
    written = markdown(found)
    seen = written.partition("<details>")[0].splitlines()
    assert len(seen) + 1 <= MOST_LINES
    assert len(written) < 65_536
    assert 1 == written.count("<details>") == written.count("</details>")


def test_a_review_is_in_the_language_of_the_quote() -> None:
    """A Chinese review has Chinese titles, labels, changes and notes, aligned by what wide letters take."""
    fabric = {"role": "compute", "topology": "fat-tree", "switches": {"leaf": 4}}
    more = {**fabric, "switches": {"leaf": 5}}
    new = line("b", 3, "2.00"), line("c", 1)
    found = compare(side(line("b", 2, "2.00"), fabrics={"f": fabric}), side(*new, fabrics={"f": more, "g": fabric}))
    said = shown(found, language("zh"))
    for words in (
        "+5 Leaf 交换机",
        "新增网络 g",
        "费用",
        "Leaf 交换机",
        "新增、胖树：4 Leaf 交换机",
        "2 -> 3",
        "待报价",
        "说明：",
    ):
        assert words in said
    assert not {"Money", "Design", "new", "gone", "no price"} & set(said.split())


def test_points_and_per_cent_are_distinguished() -> None:
    """A share changes by percentage points, any other number by a share of what it was: 40 % to 45 %, 20 to 18."""
    old, new = (side(workload={"mfu": mfu, "days": days}) for mfu, days in ((0.4, 20), (0.45, 18)))
    found = compare(old, new)
    said = ((ENGLISH, "+5 percentage points", "-2 days (-10.0 %)"), (language("zh"), "+5 个百分点", "-2 天（-10.0%）"))
    for words, points, share in said:
        for written in (shown(found, words), comment(review_document(found, words), words)):
            assert points in written
            assert share in written


def test_unchanged_says_so() -> None:
    """A result that did not change is said to be the same, in every form."""
    one = side(line("a", 1, "5.00"))
    found = compare(one, one)
    assert ["bom.json -> bom.json", "No change: both give the same result"] == shown(found).splitlines()
    assert "### No change" in markdown(found)
    assert to_data(found, [])["changed"] is False


def test_numbers_are_grouped_and_what_matters_comes_first() -> None:
    """GPUs and switches are shown, the rest is counted."""
    fabric = {"role": "compute", "topology": "fat-tree", "switches": {"leaf": 4}, "ports": {"leaf": {"down": 3}}}
    more = {**fabric, "switches": {"leaf": 5}, "ports": {"leaf": {"down": 4}}, "oversubscription": {"leaf": 1.5}}
    old = side(fabrics={"compute": fabric, "old": {"role": "x", "topology": "ring"}})
    new = side(fabrics={"compute": more, "new": {"role": "y", "topology": "access", "switches": {"leaf": 2}}})
    found = compare(old, new)
    text = shown(found)
    assert "+1 leaf" not in headline(found, ENGLISH)  # two more stand in the fabric that is new
    assert "+3 leaf, new fabric new, fabric old removed" in headline(found, ENGLISH)
    assert "Leaf switches" in text
    assert "Other numbers: 1 rows; use --all to show them" in text
    assert "access: 2 leaf, 0 links" in text


@pytest.mark.parametrize(
    "make", [hostile, lambda: compare(side(line("a", 1)), side(line("b", 3, "1.00"), currency="EUR"))]
)
def test_json_keeps_to_its_schema(make: Any) -> None:
    """The JSON is what the schema says."""
    data = json.loads(json.dumps(to_data(make(), ["x"]), allow_nan=False))
    assert [] == [error.message for error in jsonschema.Draft202012Validator(SCHEMA).iter_errors(data)]


# expansion ----------------------------------------------------------------------------------------------------------


def test_an_expansion_is_an_order() -> None:
    """More servers of the same kind: what to buy, and what is left over; parts that move serve elsewhere."""
    cluster = {"gpu": "g", "server": "s"}
    old = side(
        line("server", 2, "100.00", part="s"),
        line("a.switch.leaf", 2, "10.00", part="q"),
        line("b.switch.leaf", 3, "10.00", part="q"),
        line("a.cable", 5, part="c"),
        cluster={**cluster, "gpus": 16, "servers": 2},
    )
    new = side(
        line("server", 3, "90.00", part="s", discount="0.1"),
        line("a.switch.leaf", 6, "10.00", part="q"),
        line("b.switch.leaf", 1, "10.00", part="q"),
        line("a.cable", 1, part="c"),
        line("x", 4, part="x"),
        cluster={**cluster, "gpus": 24, "servers": 3},
    )
    found = compare(old, new).expansion
    assert found
    assert [("s", 1, Decimal("81.00")), ("q", 2, Decimal("20.00")), ("x", 4, None)] == [
        (row.part, row.pieces, row.amount) for row in found.order
    ]
    assert [("c", 4)] == [(row.part, row.pieces) for row in found.free]
    assert (Decimal("101.00"), 1) == (found.amount, found.unpriced)


@pytest.mark.parametrize("cluster", [{"gpu": "other", "servers": 9}, {"servers": 1}, {"server": None, "servers": 9}])
def test_what_is_no_expansion(cluster: dict[str, Any]) -> None:
    """Other GPUs or servers, or no more of them, are no order on top of what stands there."""
    base = {"gpu": "g", "server": "s", "servers": 2}
    assert compare(side(cluster=base), side(cluster={**base, **cluster})).expansion is None
