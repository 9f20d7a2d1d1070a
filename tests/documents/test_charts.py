"""The charts of the report: what they draw is what bom.json says, for small plans and for 24 576 GPUs."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from bomgen.core.language import language
from bomgen.documents.charts import (
    CHARTS,
    Bars,
    Chart,
    HeatMap,
    OneLine,
    Point,
    Points,
    charts_of,
)
from bomgen.documents.tables import Writer
from bomgen.output.drawing.canvas import NARROW, text_width
from bomgen.output.drawing.charts import PLANE, chart_svg, tones
from bomgen.output.writer import render
from bomgen.results.result import Report, result
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import PlanFile

ROOT = Path(__file__).parents[2]
PLANS = ("llama65b", "llama65b-quote", "meta-24k", "superpod-h100-floor", "llama3-405b", "llama2-7b-chat", "a100-32-zh")
ELSEWHERE = ("training-and-serving", "deepseek-r1-h20-zh", "gb300-nvl72-xdr", "hpn-like")


@cache
def _report(name: str, *settings: str) -> Report:
    path = ROOT / "plans" / f"{name}.yaml"
    return work_out(PlanFile(f"plans/{name}.yaml", path.read_bytes(), path.parent, ROOT), settings)


@cache
def _bom(name: str) -> dict[str, Any]:
    return result(_report(name))


def _charts(report: Report, code: str = "en") -> Iterator[tuple[str, Chart]]:
    """All charts of a report, each behind the name of its cluster."""
    writer = Writer(report, language(code))
    of_plan = ("costs", "alternatives")
    sections = [(writer, section) for section in of_plan]
    sections += [(each, section) for each in writer.cluster_writers() for section in CHARTS if section not in of_plan]
    for each, section in sections:
        yield from ((each.report.plan.cluster_name, chart) for chart in charts_of(each, section))


def _shape(name: str, id: str) -> Any:
    """What a chart of a plan with one cluster draws; None where it has none."""
    return next((chart.shape for _, chart in _charts(_report(name)) if chart.id == id), None)


@pytest.mark.parametrize("name", PLANS)
def test_memory_is_that_of_the_result(name: str) -> None:
    """The parts are those of the fullest GPU, the frame is what a GPU has."""
    memory = _bom(name).get("workload", {}).get("memory")
    shape = _shape(name, "memory")
    if memory is None or "per_gpu" not in memory:
        assert shape is None
        return
    (bar,) = shape.bars
    known = ("weights", "gradients", "optimizer", "activations", "kv_cache")
    assert list(map(float, bar.parts)) == [
        float(memory["per_gpu"][part]) for part in known if part in memory["per_gpu"]
    ]
    assert sum(bar.parts) == memory["per_gpu"]["total"]
    assert bar.frame == memory["gpu"]
    assert len(shape.key) == len(bar.parts)


@pytest.mark.parametrize("name", PLANS)
def test_range_is_that_of_the_totals(name: str) -> None:
    """From low to high with a mark at the total; nothing is drawn where an end is not known."""
    bom, shape = _bom(name), _shape(name, "price-range")
    totals = bom["totals"]
    if totals["high"] is None:
        assert shape is None
        return
    whole, net, doubtful = shape.bars
    assert whole.start == Decimal(totals["low"])
    assert whole.start + whole.parts[0] == Decimal(totals["high"])
    assert whole.mark == Decimal(totals["amount"])
    assert net.parts == (Decimal(bom["confidence"]["net"]),)
    assert doubtful.parts == (Decimal(bom["confidence"]["amount"]),)


@pytest.mark.parametrize("name", ["llama65b-quote", "meta-24k"])
def test_alternatives_have_their_totals(name: str) -> None:
    """The plan first, then every alternative."""
    bom, shape = _bom(name), _shape(name, "alternatives")
    totals = [bom["totals"], *(each["totals"] for each in bom["alternatives"])]
    assert [bar.parts for bar in shape.bars] == [(Decimal(each["amount"]),) for each in totals]
    assert [bar.name for bar in shape.bars[1:]] == [each["name"] for each in bom["alternatives"]]


@pytest.mark.parametrize("name", PLANS)
def test_cables_add_up_to_those_of_the_fabrics(name: str) -> None:
    """All cables of all fabrics are drawn, and each length once."""
    total = sum(fabric["cables_total"] for fabric in _bom(name)["fabrics"].values())
    shape = _shape(name, "cable-lengths")
    if not total:
        assert shape is None
        return
    assert sum(sum(bar.parts) for bar in shape.bars) == total
    assert len({bar.name for bar in shape.bars}) == len(shape.bars)
    pieces = Counter[str]()
    for fabric in _bom(name)["fabrics"].values():
        for cables in fabric["cables"].values():
            for cable, number in cables.items():
                pieces[cable.rpartition("@")[2]] += number
    if all(re.fullmatch(r"[\d.]+", length) for length in pieces):
        drawn = {bar.name.partition(" ")[0]: sum(bar.parts) for bar in shape.bars}
        assert drawn == pieces


@pytest.mark.parametrize("name", PLANS)
def test_one_line_names_the_power_of_the_site(name: str) -> None:
    """Every number of the site that has a box stands in it."""
    site, words = _bom(name)["site"], language("en")
    shape = _shape(name, "power-line")
    texts = " ".join(box.text for level in shape.levels for box in level)
    for key in ("facility_power_w", "power_w", "network_power_w", "storage_power_w", "feed_power_w"):
        if site.get(key):
            assert words.value(Fraction(site[key]), "W") in texts
    assert words.value(_bom(name)["cluster"]["power_w"], "W") in texts


@pytest.mark.parametrize("name", ["llama65b-quote", "superpod-h100-floor", "llama3-405b", "gb300-nvl72-spectrum"])
def test_heat_map_counts_the_racks(name: str) -> None:
    """The key names every power of the racks with as many racks as there are."""
    (chart,) = (chart for _, chart in _charts(_report(name)) if isinstance(chart.shape, HeatMap))
    svg, words = chart_svg(chart, "rack-power", language("en")), language("en")
    expected = Counter[int]()
    ranges = dict[int, tuple[int, int]]()
    for group in _bom(name)["site"]["elevations"]:
        expected[group["power_w"]] += group["number"]
        if known := group.get("power_w_range"):
            ranges[group["power_w"]] = (known["low"], known["high"])
    for watts, number in expected.items():
        power = words.value(watts, "W", ranges.get(watts))
        assert words.word("chart-racks-at", power=power, racks=words.integer(number)) in svg
    assert ranges or name != "gb300-nvl72-spectrum"
    assert sum(expected.values()) == _bom(name)["site"]["racks"]


@pytest.mark.parametrize("code", ["en", "zh"])
@pytest.mark.parametrize("name", [*PLANS, *ELSEWHERE])
def test_charts_are_well_formed_and_fit(name: str, code: str) -> None:
    """Valid XML with a title and a description that has every number; nothing stands outside; always the same."""
    for cluster, chart in _charts(_report(name), code):
        svg = chart_svg(chart, f"{chart.id}.{cluster}", language(code))
        assert svg == chart_svg(chart, f"{chart.id}.{cluster}", language(code))
        root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
        described = root.findtext("{http://www.w3.org/2000/svg}desc")
        assert described
        assert root.findtext("{http://www.w3.org/2000/svg}title") == chart.title
        left, top, width, height = map(float, root.attrib["viewBox"].split())
        assert (left, top, width) == (0, 0, PLANE if isinstance(chart.shape, Points) else NARROW)
        for each in root.iter("{http://www.w3.org/2000/svg}rect"):
            x, y, wide, high = (float(each.attrib[key]) for key in ("x", "y", "width", "height"))
            assert x >= 0
            assert x + wide <= width + 2
            assert y + high <= height
        if isinstance(chart.shape, Bars):
            assert all(bar.text in described for bar in chart.shape.bars)
        if isinstance(chart.shape, OneLine):
            assert all(box.text in described for level in chart.shape.levels for box in level)


def test_numbers_of_many_points_do_not_overlap() -> None:
    """Sixty points of a front have their numbers, none of which covers another, a point or the line of the front."""
    places = [(x, 1000 / x) for x in range(10, 130, 2)]
    points = tuple(Point(str(number), *place, "design", number % 3 > 0) for number, place in enumerate(places, 1))
    svg = chart_svg(Chart("front", "t", "t", Points(points, ("x", "y"), (("1", "2"), ("1", "2")))), "f", language("en"))
    root = ElementTree.fromstring(svg)  # noqa: S314 - our own drawing
    numbers = {
        str(each.text): (float(each.attrib["x"]), float(each.attrib["y"]), float(each.attrib["font-size"]))
        for each in root.iter("{http://www.w3.org/2000/svg}text")
        if each.attrib["class"] == "number"
    }
    circles = [*root.iter("{http://www.w3.org/2000/svg}circle")]
    assert [*numbers] == [point.name for point in points]
    assert {each.attrib["fill-opacity"] for each in circles} == {"0", "1"}
    wide = {name: text_width(name, size) / 2 for name, (_, _, size) in numbers.items()}
    for (one, (x, y, size)), (other, (left, top, _)) in combinations(numbers.items(), 2):
        assert abs(x - left) >= wide[one] + wide[other] or abs(y - top) >= size, (one, other)
    for name, (x, y, size) in numbers.items():
        for circle in circles:
            far = (abs(x - float(circle.attrib["cx"])) - wide[name], abs(y - float(circle.attrib["cy"])) - size / 2)
            assert max(far) >= 3, name


def test_a_floor_of_a_large_cluster_stays_small() -> None:
    """Twenty-four thousand GPUs: no drawing is larger than a page's worth of bytes."""
    for _, chart in [*_charts(_report("meta-24k")), *_charts(_report("llama3-405b"))]:
        assert len(chart_svg(chart, chart.id, language("en"))) < 64 * 1024


def test_every_chart_stands_in_the_report() -> None:
    """In its chapter."""
    files = render(_report("llama65b-quote"), ("html",))
    page = files["report.html"].decode()
    for id in ("costs", "price-range", "alternatives", "memory", "cable-lengths", "power-line"):
        assert f'id="drawing-{id}"' in page
    assert 'id="drawing-rack-power"' in page


def test_tones_differ() -> None:
    """Each part of a bar has a tone of its own, from dark to light."""
    for parts in range(1, 9):
        assert len(set(tones(parts))) == parts
        assert tones(parts) == sorted(tones(parts), reverse=True)
