"""Drawings of fabrics: well-formed, with the right counts, and without one text over another."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from itertools import combinations, pairwise
from typing import NamedTuple

import pytest
from calls_made import count_calls
from fabrics_by_hand import FABRICS, clos, dragonfly, planes, torus

from bomgen.core.language import language
from bomgen.fabric.types import Fabric, Tier
from bomgen.output.drawing.fabrics import fabric_svg, find_torus
from bomgen.output.face import BOLD, width_in_ems

ENGLISH = language("en")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script> & a name that is far too long for the column it stands in, by any measure'
TIERED = [name for name, fabric in FABRICS.items() if not fabric.dimensions]


class Area(NamedTuple):
    """Where something stands."""

    left: float
    top: float
    right: float
    bottom: float

    def meets(self, other: Area) -> bool:
        """Whether the two lie on each other."""
        across = self.left < other.right and other.left < self.right
        return across and self.top < other.bottom and other.top < self.bottom


def _read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own drawing


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in _read(svg).iter(f"{SVG}text")]


def _area(element: ElementTree.Element) -> Area:
    """What a text covers."""
    size = float(element.attrib["font-size"])
    long = width_in_ems(element.text or "", element.get("font-weight") == str(BOLD)) * size
    x, y = float(element.attrib["x"]), float(element.attrib["y"])
    if "transform" in element.attrib:
        return Area(x - size / 2, y - long / 2, x + size / 2, y + long / 2)
    start = x if element.attrib.get("text-anchor", "start") == "start" else x - long / 2
    return Area(start, y - size / 2, start + long, y + size / 2)


@pytest.mark.parametrize("name", FABRICS)
def test_counts_of_switches_and_links(name: str) -> None:
    """Every tier and every kind of link is there with its count and rate; of planes, with one's and all's."""
    fabric = FABRICS[name]
    texts = _texts(fabric_svg(fabric, "compute", ENGLISH))
    drawn = fabric.plane or fabric
    for tier in drawn.tiers:
        assert f"{ENGLISH.integer(tier.count.value)} × {tier.switch.identity.name}" in texts
    for links in drawn.links:
        kind = {"local": "local ", "global": "global "}.get(links.kind, "")
        assert (f"{ENGLISH.integer(links.count.value)} {kind}links, 400 Gb/s" in texts) == (links.count.value > 0)
    if fabric.plane:
        assert f"1 of {fabric.planes.value if fabric.planes else 1} equal planes" in texts
        for each in (*fabric.tiers, *fabric.links):
            assert f"{ENGLISH.integer(each.count.value)} in all planes" in texts


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize("code", ["en", "zh"])
def test_nothing_overlaps(name: str, code: str) -> None:
    """Shapes lie within the picture, words left of the shapes, and no text lies on another."""
    root = _read(fabric_svg(_named(name), "compute", language(code)))
    _, _, width, height = (float(number) for number in root.attrib["viewBox"].split())
    shapes = list(root.iter(f"{SVG}rect"))
    assert all(float(shape.attrib["x"]) + float(shape.attrib["width"]) <= width for shape in shapes)
    assert all(float(shape.attrib["y"]) + float(shape.attrib["height"]) <= height for shape in shapes)
    left = min((float(shape.attrib["x"]) for shape in shapes), default=220)
    areas = [_area(text) for text in root.iter(f"{SVG}text")]
    assert [(one, other) for one, other in combinations(areas, 2) if one.meets(other)] == []
    assert all(area.left >= 0 and area.right <= width for area in areas)
    assert all(area.top >= 0 and area.bottom <= height for area in areas)
    words = [_area(text) for text in root.iter(f"{SVG}text") if text.attrib["x"] == "0"]
    assert all(word.right <= left for word in words)


def _named(name: str) -> Fabric:
    """A fabric whose switches have a name that cannot be shown in full."""

    def renamed(tier: Tier) -> Tier:
        return replace(tier, switch=tier.switch._replace(identity=tier.switch.identity._replace(name=HOSTILE)))

    fabric = FABRICS[name]
    plane = fabric.plane and fabric.plane._replace(tiers=tuple(map(renamed, fabric.plane.tiers)))
    return fabric._replace(tiers=tuple(map(renamed, fabric.tiers)), plane=plane)


@pytest.mark.parametrize("name", FABRICS)
def test_lines_stay_out_of_the_words(name: str) -> None:
    """No line or curve runs through the column of words."""
    root = _read(fabric_svg(FABRICS[name], "compute", ENGLISH))
    for line in root.iter(f"{SVG}line"):
        assert min(float(line.attrib["x1"]), float(line.attrib["x2"])) >= 220
    for path in root.iter(f"{SVG}path"):
        points = path.attrib["d"].replace("M", "").replace("C", ",").split(",")
        assert all(float(point.split()[0]) >= 220 and float(point.split()[1]) >= 0 for point in points)


@pytest.mark.parametrize("name", TIERED)
def test_boxes_stand_apart_and_add_up(name: str) -> None:
    """Boxes of a row do not touch; those of the top tier and those left out are as many as there are switches."""
    root = _read(fabric_svg(FABRICS[name], "compute", ENGLISH))
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in root.iter(f"{SVG}rect"):
        if box.attrib["class"] == "box":
            rows.setdefault(box.attrib["y"], []).append((float(box.attrib["x"]), float(box.attrib["width"])))
    for boxes in rows.values():
        boxes.sort()
        assert all(x + width < after for (x, width), (after, _) in pairwise(boxes))
    drawn = FABRICS[name].plane or FABRICS[name]
    if drawn.pods is None or len(drawn.tiers) == 3:
        top = min(rows, key=float)
        more = [
            int(text.text or "")
            for text in root.iter(f"{SVG}text")
            if text.attrib.get("class") == "more" and float(text.attrib["y"]) < float(top) + 30
        ]
        assert len(rows[top]) - len(more) + sum(more) == drawn.tiers[-1].count.value


def test_lines_join_drawn_switches() -> None:
    """Few switches are joined pair by pair; a spine with fewer uplinks than cores reaches only some of them."""

    def lines(name: str) -> int:
        root = _read(fabric_svg(FABRICS[name], "compute", ENGLISH))
        return sum(line.attrib["x1"] != line.attrib["x2"] for line in root.iter(f"{SVG}line"))

    assert lines("few") == 3 * 2
    assert lines("pods") < 2 * 3 * 7 + 2 * 3 * 3


def test_groups_are_rings_with_curves_between_them() -> None:
    """Three groups of four routers: all pairs of a group are lines, all pairs of groups curves."""
    root = _read(fabric_svg(FABRICS["small dragonfly"], "compute", ENGLISH))
    assert len(list(root.iter(f"{SVG}circle"))) == 12
    assert len(list(root.iter(f"{SVG}path"))) == 3
    assert len(list(root.iter(f"{SVG}line"))) == 3 * 6 + 3 * 3
    texts = _texts(fabric_svg(FABRICS["small dragonfly"], "compute", ENGLISH))
    assert {"3 groups of 4", "4 per pair of groups", "1 per pair of routers", "Group 3"} <= set(texts)


def test_links_that_do_not_spread_evenly_are_said_so() -> None:
    """Between pairs of groups there are four or five links; where there are fewer than pairs, a router's are told."""
    texts = _texts(fabric_svg(dragonfly(5, 3, 8), "compute", ENGLISH))
    assert "6 per pair of groups" in texts
    texts = _texts(fabric_svg(dragonfly(5, 3, 6), "compute", ENGLISH))
    assert "4–5 per pair of groups" in texts
    texts = _texts(fabric_svg(dragonfly(100, 2, 1), "compute", ENGLISH))
    assert "1 per router" in texts


def test_grid_of_nodes() -> None:
    """A small torus has every node, every line between neighbours, and a curve for every line that is closed."""
    root = _read(fabric_svg(FABRICS["slab"], "compute", ENGLISH))
    assert len(list(root.iter(f"{SVG}circle"))) == 3 * 4
    assert len(list(root.iter(f"{SVG}path"))) == 4 + 3
    texts = _texts(fabric_svg(FABRICS["torus"], "compute", ENGLISH))
    assert {"Torus 16 × 16 × 16", "4,096 nodes", "6 per node", "ends connected in x, y, z"} <= set(texts)
    assert not list(_read(fabric_svg(FABRICS["mesh"], "compute", ENGLISH)).iter(f"{SVG}path"))


def test_links_of_a_grid_by_axis() -> None:
    """The count says whether lines are closed, and how many links two neighbours have."""
    closed = find_torus(torus(4, 4, 8))
    assert closed.wrapped
    assert closed.links == {"x": 128, "y": 128, "z": 128}
    doubled = find_torus(torus(2, 4, links=8 + 8))
    assert doubled.links == {"x": 8, "y": 8}
    assert find_torus(torus(2, 4)).links == {"x": 4, "y": 8}
    assert not find_torus(torus(4, 4, links=24)).wrapped
    assert find_torus(torus(4, 4, links=25)).links is None


def test_pods_of_rails_are_called_so() -> None:
    """The pods of a rail-optimized fabric hold the leaves of a rail."""
    texts = _texts(fabric_svg(FABRICS["rails"], "compute", ENGLISH))
    assert {"Rail group 1", "Rail group 18", "18 rail groups", "4 reserved"} <= set(texts)


def test_endpoints_of_other_machines_are_named() -> None:
    """What servers and reserved ports leave of the endpoints belongs to other machines."""
    fabric = clos([3, 2], [32], 90, 8, reserved=2)
    texts = _texts(fabric_svg(fabric, "compute", ENGLISH, servers=10))
    assert {"90 endpoints", "8 per server", "8 at other machines", "2 reserved"} <= set(texts)
    assert not any("other machines" in text for text in _texts(fabric_svg(fabric, "compute", ENGLISH, servers=11)))


def test_a_file_of_its_own_brings_ground_and_size() -> None:
    """Alone, the drawing has a ground that follows the reader's colours; within a page it follows the page's."""
    alone = _read(fabric_svg(FABRICS["few"], "compute", ENGLISH, alone=True))
    assert "prefers-color-scheme:dark" in (alone.findtext(f"{SVG}style") or "")
    assert {"width", "height", "color"} <= set(alone.attrib)
    ground = next(alone.iter(f"{SVG}rect"))
    left, top, width, height = map(float, alone.attrib["viewBox"].split())
    assert [left, top, width, height] == [float(ground.attrib[key]) for key in ("x", "y", "width", "height")]
    assert "style" not in fabric_svg(FABRICS["few"], "compute", ENGLISH)


MOST_TIMES = 8
"""Calls for a very large fabric, of those for one of a few switches: each way to draw costs another number."""


def test_very_large_fabrics_take_no_longer() -> None:
    """Nothing is made for what is not shown."""
    large = [FABRICS["huge"], FABRICS["large dragonfly"], FABRICS["torus of 20 000"], planes(FABRICS["huge"], 8)]
    assert max(len(fabric_svg(fabric, "compute", ENGLISH)) for fabric in large) < 40_000
    few = count_calls(lambda: fabric_svg(FABRICS["few"], "compute", ENGLISH))
    for fabric in large:
        assert count_calls(lambda fabric=fabric: fabric_svg(fabric, "compute", ENGLISH)) < MOST_TIMES * few


def test_description_for_readers_who_do_not_see_it() -> None:
    """The drawing is an image with a title and a description, which hold its words."""
    root = _read(fabric_svg(FABRICS["two tiers"], "compute", ENGLISH))
    assert root.attrib["role"] == "img"
    title, description = (root.findtext(f"{SVG}{tag}") or "" for tag in ("title", "desc"))
    assert "Compute" in title
    assert "1,024 links, 400 Gb/s, 2 per pair of switches" in description
    ids = [element.attrib["id"] for element in root if "id" in element.attrib]
    assert root.attrib["aria-labelledby"].split() == ids


def test_hostile_names_stay_text() -> None:
    """Names of switches and fabrics cannot break out of the drawing."""
    root = _read(fabric_svg(_named("few"), HOSTILE, ENGLISH))
    assert not list(root.iter(f"{SVG}script"))
    assert HOSTILE in (root.findtext(f"{SVG}title") or "")
