"""Drawings of fabrics: well-formed, with the right counts, and without one text over another."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from itertools import pairwise

import pytest

from bomgen.fabric.model import Fabric, Links, Tier
from bomgen.figures import Figure, Given, Mark
from bomgen.language import language
from bomgen.parts import Identity, Switch
from bomgen.render.diagrams import fabric_svg

ENGLISH = language("en")
SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '"><script>alert(1)</script> & a name that is far too long for the column it stands in, by any measure'
FABRICS = {
    "one switch": ([1], [], 40, 4, None),
    "two tiers": ([32, 16], [32], 1024, 4, None),
    "few": ([3, 2], [32], 90, 4, None),
    "pods": ([2048, 2048, 1024], [32, 32], 65536, 8, 64),
    "three pods": ([24, 24, 8], [8, 8], 640, 8, 3),
    "unequal pods": ([21, 16, 8], [32, 32], 640, 8, 2),
    "no core": ([32, 16], [8], 640, 8, 4),
    "huge": ([20000, 20000, 10000], [32, 32], 640000, 8, 625),
}


def _figure(value: int, unit: str) -> Figure:
    return Figure(value, unit, Given(Mark("plan.yaml", 1, 1)))


def _fabric(name: str, switch: str = "QM9700") -> Fabric:
    counts, uplinks, endpoints, ports_per_server, pods = FABRICS[name]
    part = Switch(Identity("switch", "switch", switch), None, (), _figure(1, "count"), None, None, None)
    ups = [*(_figure(each, "ports") for each in uplinks), None]
    port = _figure(32, "ports")
    rate = _figure(400, "Gb/s")
    tiers = [
        Tier(tier, part, _figure(count, "switches"), port, port, up, (), None)
        for tier, count, up in zip(("leaf", "spine", "core"), counts, ups, strict=False)
    ]
    links = [Links("server-leaf", _figure(endpoints, "links"), _figure(endpoints, "links"), rate)]
    for kind, count, up in zip(("leaf-spine", "spine-core"), counts, uplinks, strict=False):
        links.append(Links(kind, _figure(count * up, "links"), _figure(count * up, "links"), rate))
    return Fabric(
        topology="fat-tree",
        endpoints=_figure(endpoints, "endpoints"),
        ports_per_server=_figure(ports_per_server, "ports"),
        tier_count=_figure(len(counts), "tiers"),
        tiers=tuple(tiers),
        links=tuple(links),
        switches=_figure(sum(counts), "switches"),
        bisection_gbps=_figure(1, "Gb/s"),
        pods=_figure(pods, "pods") if pods else None,
    )


def _read(svg: str) -> ElementTree.Element:
    return ElementTree.fromstring(svg)  # noqa: S314 - our own drawing


def _texts(svg: str) -> list[str]:
    return [element.text or "" for element in _read(svg).iter(f"{SVG}text")]


@pytest.mark.parametrize("name", FABRICS)
def test_counts_of_switches_and_links(name: str) -> None:
    """Every tier and every kind of link is there with its count."""
    texts = _texts(fabric_svg(_fabric(name), "compute", ENGLISH))
    counts, uplinks, endpoints, _, _ = FABRICS[name]
    for count in counts:
        assert f"{ENGLISH.integer(count)} × QM9700" in texts
    for links in [endpoints, *(count * up for count, up in zip(counts, uplinks, strict=False))]:
        assert f"{ENGLISH.integer(links)} links, 400 Gb/s" in texts


@pytest.mark.parametrize("name", FABRICS)
@pytest.mark.parametrize("code", ["en", "zh"])
def test_nothing_overlaps(name: str, code: str) -> None:
    """Shapes lie within the picture, words left of the shapes, and no two lines of words share a height."""
    root = _read(fabric_svg(_fabric(name, HOSTILE), "compute", language(code)))
    _, _, width, height = (float(number) for number in root.attrib["viewBox"].split())
    shapes = list(root.iter(f"{SVG}rect"))
    left = min(float(shape.attrib["x"]) for shape in shapes)
    assert all(float(shape.attrib["x"]) + float(shape.attrib["width"]) <= width for shape in shapes)
    assert all(float(shape.attrib["y"]) + float(shape.attrib["height"]) <= height for shape in shapes)
    words = [text for text in root.iter(f"{SVG}text") if text.attrib["x"] == "0"]
    em = {word: float(word.attrib["font-size"]) for word in words}
    for word in words:
        letters = sum(1 if letter > "\u2e80" else 0.6 for letter in word.text or "")
        assert letters * em[word] <= left
    heights = sorted(float(word.attrib["y"]) for word in words)
    assert all(lower - upper >= max(em.values()) for upper, lower in pairwise(heights))


@pytest.mark.parametrize("name", FABRICS)
def test_boxes_stand_apart_and_add_up(name: str) -> None:
    """Boxes of a row do not touch; those of the top tier and those left out are as many as there are switches."""
    root = _read(fabric_svg(_fabric(name), "compute", ENGLISH))
    rows: dict[str, list[tuple[float, float]]] = {}
    for box in root.iter(f"{SVG}rect"):
        if box.attrib["class"] == "box":
            rows.setdefault(box.attrib["y"], []).append((float(box.attrib["x"]), float(box.attrib["width"])))
    for boxes in rows.values():
        boxes.sort()
        assert all(x + width < after for (x, width), (after, _) in pairwise(boxes))
    counts = FABRICS[name][0]
    if FABRICS[name][4] is None or len(counts) == 3:
        top = min(rows, key=float)
        more = [
            int(text.text or "")
            for text in root.iter(f"{SVG}text")
            if text.attrib.get("class") == "more" and float(text.attrib["y"]) < float(top) + 30
        ]
        assert len(rows[top]) - len(more) + sum(more) == counts[-1]


def test_lines_join_drawn_switches() -> None:
    """Few switches are joined pair by pair; a spine with fewer up-links than cores reaches only some of them."""

    def lines(name: str) -> int:
        root = _read(fabric_svg(_fabric(name), "compute", ENGLISH))
        return sum(line.attrib["x1"] != line.attrib["x2"] for line in root.iter(f"{SVG}line"))

    assert lines("few") == 3 * 2
    assert lines("pods") < 2 * 3 * 7 + 2 * 3 * 3


def test_description_for_readers_who_do_not_see_it() -> None:
    """The drawing is an image with a title and a description, which hold its words."""
    root = _read(fabric_svg(_fabric("two tiers"), "compute", ENGLISH))
    assert root.attrib["role"] == "img"
    title, description = (root.findtext(f"{SVG}{tag}") or "" for tag in ("title", "desc"))
    assert "compute" in title
    assert "1024 links, 400 Gb/s, 2 per pair of switches" in description
    ids = [element.attrib["id"] for element in root if "id" in element.attrib]
    assert root.attrib["aria-labelledby"].split() == ids


def test_hostile_names_stay_text() -> None:
    """Names of switches and fabrics cannot break out of the drawing."""
    root = _read(fabric_svg(_fabric("few", HOSTILE), HOSTILE, ENGLISH))
    assert not list(root.iter(f"{SVG}script"))
    assert HOSTILE in (root.findtext(f"{SVG}title") or "")
