"""The catalogue as text."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bomgen.catalog.files import KINDS, Catalog
from bomgen.core.document import Document
from bomgen.core.language import language
from bomgen.output.terminal import render_lines
from bomgen.workflow.catalog_listing import audit, part, parts_named, parts_where


def shown(document: Document) -> list[str]:
    """The lines that the command prints."""
    return [line.text for line in render_lines(document, language("en"))]


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_listed_in_full(kind: str) -> None:
    """`bomgen catalog KIND ID` has lines for every record, and its id on the first."""
    shelves = Catalog()
    for record in shelves.ids(kind):
        found = shown(part(shelves, kind, record))
        assert record in found[0]
        assert len(found) > 1


@pytest.mark.parametrize(
    ("number", "first"),
    [
        ("MQM9700-NS2F", ["switch qm9700"]),
        ("mfp7e10-n030", ["cable mfp7e10-nxxx", "", "  length              30 m"]),
        ("980-9I60Z-00N003", ["cable mca4j80-nxxx"]),
    ],
)
def test_any_number_that_a_vendor_prints_finds_its_part(number: str, first: list[str]) -> None:
    """A part number, a length of a family, the ordering number of a length."""
    [found] = parts_named(Catalog(), number)
    assert shown(found)[: len(first)] == first


def test_parts_are_found_by_their_values() -> None:
    """In any unit and by the beginning of a field's name; all conditions hold."""
    _, *found = shown(parts_where(Catalog(), KINDS, "rate=0.8T fibre=single-mode optic=dr8"))
    assert {line.split()[1] for line in found} >= {"mms4x00-nm16", "osfp-800g-dr8"}
    assert all("optic dr8" in line for line in found)


@pytest.mark.parametrize(
    ("conditions", "said"), [("rate", "not a condition"), ("speed_of_light=1", "no part has a field")]
)
def test_wrong_conditions_are_refused(conditions: str, said: str) -> None:
    """A key without a value, and a field that no part has."""
    with pytest.raises(ValueError, match=said):
        parts_where(Catalog(), KINDS, conditions)


def test_the_audit_lists_weak_and_missing_facts(tmp_path: Path) -> None:
    """A figure that is null, one that nobody looked up, one read more than a year before the newest; no other."""
    part = {
        "name": "Old",
        "ports": {"value": 64, "source": ["new"], "confidence": "high"},
        "power": {"value": None, "source": ["new"], "confidence": "low"},
        "weight": {"value": "14 kg", "source": ["unverified"], "confidence": "low"},
        "rack_units": {"value": 1, "source": ["old"], "confidence": "high"},
        "sources": {"new": {"title": "New", "read": "2026-11-20"}, "old": {"title": "Old", "read": "2025-01-01"}},
    }
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "old.yaml").write_text(json.dumps(part), encoding="utf-8")
    found = [line.split(maxsplit=3)[2:] for line in shown(audit(Catalog((tmp_path,)), ["switch"])) if " old " in line]
    assert found == [["power", "not known"], ["weight", "not looked up"], ["rack_units", "read 2025-01-01"]]
