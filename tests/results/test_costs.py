"""The chapter of costs: what categories come to, as bars and as a table, with prices missing or not."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import pytest

from bomgen.core.language import language
from bomgen.documents.charts import Bar, Bars, Chart, categories, describe_category
from bomgen.documents.tables import Writer
from bomgen.output.drawing.canvas import NARROW
from bomgen.output.drawing.charts import chart_svg
from bomgen.output.face import width_in_ems
from bomgen.output.writer import render
from bomgen.pricing.quote import CategoryTotal, category_amounts
from bomgen.results.result import Report
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

BOOK = "bomgen_prices: 1\nname: mine\ncurrency: USD\ndate: 2026-01-01\nsource: test\nprices:\n"
BAR = re.compile(r'<rect class="bar" [^>]*? width="([\d.]+)"')
SERVERS, SWITCHES = 8 * 300_000, 20_000


def _report(folder: Path, code: str = "en", **prices: object) -> Report:
    """Eight servers and a switch with modules and cables, at the prices given; switches a fifth less."""
    lines = "".join(f"  - {{part: {part.replace('_', '-')}, price: {price}}}\n" for part, price in prices.items())
    (folder / "book.yaml").write_text(BOOK + (lines or "  - {part: nothing, price: 1}\n"), encoding="utf-8")
    plan = {
        "bomgen": 1,
        "name": "costs",
        "cluster": {"gpu": "h100-sxm", "servers": 8},
        "fabrics": {"compute": {"switch": "qm9700"}},
        "quote": {"price_book": "book.yaml", "discount": {"switch": "20%"}, "language": code, "tax": "13%"},
    }
    return work_out(PlanFile("plan.yaml", json.dumps(plan).encode(), folder, folder))


def test_categories_come_to_what_their_lines_do(tmp_path: Path) -> None:
    """Amounts after discounts and before tax, the dearest first; those without a price come last and are no zero."""
    report = _report(tmp_path, dgx_h100=300000, qm9700=25000)
    parts = category_amounts(report.quote.lines)
    pieces = sum(line.line.pieces for line in report.quote.lines if line.line.category == "switch")
    assert [(part.category, part.amount) for part in parts[:2]] == [
        ("server", Decimal(SERVERS)),
        (
            "switch",
            Decimal(SWITCHES * pieces),
        ),
    ]
    assert {part.amount for part in parts[2:]} == {None}
    assert sum(part.share for part in parts) == 1
    assert sum(part.lines for part in parts) == len(report.quote.lines)


def test_nothing_priced_is_not_drawn(tmp_path: Path) -> None:
    """Without any price there is no chapter of costs."""
    report = _report(tmp_path)
    assert category_amounts(report.quote.lines) == ()
    assert "drawing-costs" not in render(report, ("html",))["report.html"].decode()


@pytest.mark.parametrize(("code", "least", "none"), [("en", "at least", "no price"), ("zh", "至少", "待报价")])
def test_bars_are_as_long_as_shares_and_say_what_they_stand_for(
    tmp_path: Path, code: str, least: str, none: str
) -> None:
    """Lengths keep the proportions; a bound from below and a missing price say so."""
    report = _report(tmp_path, code, dgx_h100=300000, qm9700=25000)
    (chart,) = categories(Writer(report, language(code)))
    svg = chart_svg(chart, "costs", language(code))
    widths = [float(width) for width in BAR.findall(svg)]
    amounts = [part.amount for part in category_amounts(report.quote.lines) if part.amount]
    assert widths[1] / widths[0] == pytest.approx(float(amounts[1] / amounts[0]), rel=1e-3)
    texts = re.findall(r'class="bar-text"[^>]*>([^<]+)<', svg)
    assert texts[-1] == none
    assert all(text in re.findall("<desc[^>]*>(.*?)</desc>", svg)[0] for text in texts)
    part = CategoryTotal("server", Decimal("250.00"), Fraction(1, 4), 2, 1)
    written = language(code)
    assert describe_category(Writer(report, written), part).text == f"{least} 250.00 USD · 25{written.percent}"


def test_words_stay_within_the_drawing() -> None:
    """However long name and number are, they end inside."""
    bars = Bars((Bar("a name as long as a customer likes to give it, and longer", "9" * 40, (1,)),))
    svg = chart_svg(Chart("long", "Long", "Long", bars), "long", language("en"))
    for size, anchor, text in re.findall(
        r'class="bar-[^>]*font-size="([\d.]+)"[^>]*text-anchor="(\w+)"[^>]*>([^<]+)<', svg
    ):
        assert float(size) * width_in_ems(text, strong=True) <= NARROW, anchor


@pytest.mark.parametrize(("share", "text"), [("1/3", "33.3 %"), ("1", "100 %"), ("1/5000", "< 0.1 %"), ("0", "0 %")])
def test_shares_are_rough(share: str, text: str) -> None:
    """Tenths of a per cent; what is there is never nothing."""
    assert language("en").rough_share(Fraction(share)) == text


def test_the_drawing_comes_with_its_numbers(tmp_path: Path) -> None:
    """The page has the numbers of the drawing as a table, and Markdown has the table alone."""
    files = render(_report(tmp_path, dgx_h100=300000), ("html", "md"))
    page = files["report.html"].decode()
    assert page.index('id="drawing-costs"') < page.index('id="table-costs"') < page.index('id="section-bill"')
    assert "| Servers | 2,400,000.00 | 100 % | 1 of 1 |" in files["report.md"].decode()
