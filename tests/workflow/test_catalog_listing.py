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
    found, read_as = parts_named(Catalog(), number)
    assert shown(found)[: len(first)] == first
    assert read_as == number


@pytest.mark.parametrize(
    ("text", "number", "parts"),
    [
        ("SYS-421GE-TNRT", "SYS-421GE-TNRT", ["server smc-sys-421ge-tnrt-h100-pcie", "server smc-sys-421ge-tnrt-l20"]),
        ("AS-8126GS-TNMR", "AS-8126GS-TNMR", ["server smc-as-8126gs-tnmr", "server smc-as-8126gs-tnmr-mi350x"]),
        ("MMS4A00", "MMS4A00", ["transceiver mms4a00-ihs", "transceiver mms4a00-rhs"]),
        ("MMS4A00-NS", "MMS4A00", ["transceiver mms4a00-ihs", "transceiver mms4a00-rhs"]),
        ("BCM957608-P1400GDF00", "BCM957608-P1400GDF00", ["nic thor2-400"]),
        ("Broadcom BCM957608-P1400GDF00/E", "BCM957608-P1400GDF00", ["nic thor2-400"]),
        ("Supermicro SYS-421GE-TNRT-OTO-12", "SYS-421GE-TNRT", ["server smc-sys-421ge-tnrt-l20"]),
        ("SYS-421GE", "SYS-421GE", ["server smc-sys-421ge-nbrt-lcc", "server smc-sys-421ge-tnrt-l20"]),
        ("MMA4Z00-NS#ABA", "MMA4Z00-NS#ABA", ["transceiver mma4z00-ns"]),
        ("NVIDIA MQM9700-NS2F=", "NVIDIA MQM9700-NS2F=", ["switch qm9700"]),
        ("MFP7E10-N030-EU", "MFP7E10-N030", ["cable mfp7e10-nxxx"]),
        ("AS -8126GS-TNMR", "AS -8126GS-TNMR", ["server smc-as-8126gs-tnmr", "server smc-as-8126gs-tnmr-mi350x"]),
        ("DGXB-G1440+P2CMI36", "DGXB-G1440", ["server dgx-b200"]),
        ("SR675 V3", "SR675 V3", ["server lenovo-sr675-v3-h200-nvl", "server lenovo-sr675-v3-rtx-pro-6000"]),
        ("DGX B300", "DGX B300", ["server dgx-b300"]),
        ("RTX6000 Blackwell", "RTX6000 Blackwell", ["gpu rtx-pro-6000-bse"]),
        ("RTX6000 Ada", "RTX6000 Ada", ["gpu rtx-6000-ada"]),
        ("H200 SXM", "H200 SXM", ["gpu h200-sxm"]),
        ("Quantum-2", "Quantum-2", ["switch qm9700", "switch qm9790"]),
        ("NVIDIA quantum 2 switch", "NVIDIA quantum 2 switch", ["switch qm9700", "switch qm9790"]),
        ("QSFP-100G-SR4-S", "QSFP-100G-SR4-S", ["transceiver 100g-sr4"]),
        ("QSFP-100G-CWDM4", "QSFP-100G-CWDM4", ["transceiver 100g-cwdm4"]),
        ("DCS-7800R4-36PE-LC", "DCS-7800R4-36PE-LC", ["switch 7804r4", "switch 7816r4"]),
        ("980-9IA0J-00N002", "980-9IA0J-00N002", ["cable mcp4y10-nxxx"]),
        ("MCP4Y10-N003-AX", "MCP4Y10-N003", ["cable mcp4y10-nxxx"]),
        ("MSN4600-CS2FC", "MSN4600-CS2FC", ["switch sn4600c"]),
        ("llama-3.1-70b", "llama-3.1-70b", ["model llama-3.1-70b"]),
    ],
)
def test_a_number_in_any_dress_finds_its_parts(text: str, number: str, parts: list[str]) -> None:
    """Shared by several parts, with a vendor before it, with endings of an order, a region or a spare behind it.

    The number of a card or of a flat version finds the part that it belongs to, that of a module of an unknown maker
    the one with its rate and optic.
    """
    found, read_as = parts_named(Catalog(), text)
    assert read_as == number
    lines = shown(found)
    assert [name for name in parts if not any(line.strip().startswith(name) for line in lines)] == []


def test_a_number_of_no_part_is_unknown() -> None:
    """What is left of it without its endings must still be a number, and the ending must not tell models apart."""
    for text in ("SYS-999XX-ABCD", "a-b", "-", "", "N9K-C9372TX-E"):
        with pytest.raises(ValueError, match="is not in the catalogue"):
            parts_named(Catalog(), text)


def test_the_audit_of_a_folder_lists_the_facts_of_its_files_alone(tmp_path: Path) -> None:
    """Figures without a source, and figures that contradict each other; nothing of built-in parts."""
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "qm9700.yaml").write_text("cages: 16\nrack_units: 2\n", encoding="utf-8")
    found = [line.split(maxsplit=3)[1:] for line in shown(audit(Catalog((tmp_path,)), KINDS))[1:]]
    assert ["qm9700", "rack_units", "no source"] in found
    assert ["qm9700", "ports", "64 ports, but 16 cages of 2 have 32"] in found
    assert {part for part, *_ in found} == {"qm9700"}


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
