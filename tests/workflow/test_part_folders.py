"""A folder of parts as a whole: words of the trade, files that nobody uses, and folders of people who mean harm."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from bomgen.catalog.cross_checks import SHOWN_OTHERS
from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import MAX_STEPS
from bomgen.workflow import catalog_listing
from bomgen.workflow.catalog_listing import check_folder, open_folders

MODULE = (
    "name: Acme\nvendor: Acme\nrate_gbps: 400\noptic: {optic}\ncage: {cage}\nfibre: {fibre}\nconnector: {connector}\n"
)
WORDS = {"optic": "DR4", "cage": "OSFP RHS", "fibre": "SMF", "connector": "MPO-12/APC"}


def write(folder: Path, kind: str, id: str, text: str) -> None:
    """Write a part file."""
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"{id}.yaml").write_text(text, encoding="utf-8")


def rules(folder: Path) -> list[str]:
    """The rules of the problems of a folder."""
    return [problem.rule for problem in check_folder(str(folder)).problems]


@pytest.mark.parametrize(
    ("field", "written", "meant"),
    [
        ("cage", "OSFP", "osfp"),
        ("cage", "QSFP-DD", "qsfp-dd"),
        ("cage", "QSFPDD", "qsfp-dd"),
        ("cage", "QSFP-DD800", "qsfp112-dd"),
        ("cage", "SFP+", "sfp"),
        ("cage", "OSFP IHS", "osfp-finned"),
        ("optic", "DR4", "dr4"),
        ("optic", "400GBASE-DR4", "dr4"),
        ("optic", "LR4", "lr4"),
        ("fibre", "SMF", "single-mode"),
        ("fibre", "OS2", "single-mode"),
        ("fibre", "MMF", "multimode"),
        ("connector", "MPO-12/APC", "mpo-12-apc"),
        ("connector", "MTP-12 / UPC", "mpo-12-upc"),
        ("connector", "Duplex LC", "lc-duplex"),
    ],
)
def test_words_of_the_trade(field: str, written: str, meant: str, tmp_path: Path) -> None:
    """Of other spellings the value of the schema is kept."""
    write(tmp_path, "transceiver", "acme", MODULE.format(**WORDS | {field: written}))
    record = Catalog((tmp_path,)).find("transceiver", "acme")
    assert record.value(field) == meant


def test_words_of_switches_and_cables(tmp_path: Path) -> None:
    """Nested values and lists too."""
    text = "name: A\nprotocol: IB\nport_groups: [{ports: 8, port_gbps: 400, cage: QSFP112}]\n"
    write(tmp_path, "switch", "acme", text)
    write(tmp_path, "cable", "acme", "name: A\nkind: DAC\nprotocols: [Ethernet, IB]\nlink_gbps: 400\n")
    catalog = Catalog((tmp_path,))
    switch, cable = catalog.find("switch", "acme"), catalog.find("cable", "acme")
    assert (switch.value("protocol"), switch.value("port_groups", 0, "cage")) == ("infiniband", "qsfp112")
    assert (cable.value("kind"), cable.value("protocols")) == ("dac", ["ethernet", "infiniband"])


def test_every_word_means_a_value_of_a_schema() -> None:
    """The values in the file of words are those of the part schemas."""
    from bomgen.catalog.link_words import TRADE_WORDS
    from bomgen.core import schema
    from bomgen.core.resources import folder
    from bomgen.core.yaml_source import own

    known: dict[str, set[str]] = {}

    def collect(data: Any, defs: Any, field: str) -> None:
        data = defs.get(str(data.get("$ref", "")).removeprefix("#/$defs/"), data)
        known.setdefault(field, set()).update(map(str, data.get("enum", ())))
        for key, below in data.get("properties", {}).items():
            collect(below, defs, key)
        if "items" in data:
            collect(data["items"], defs, field)

    for path in (folder("schemas") / "part").glob("*.json"):
        described = schema.document(f"part/{path.name.removesuffix('.schema.json')}")
        collect(described, described.get("$defs", {}), "")
    words = own(folder("data") / TRADE_WORDS, TRADE_WORDS).data
    assert [
        f"{field} {value}" for field, values in words.items() for value in values if value not in known[field]
    ] == []


def test_files_that_no_plan_uses_are_checked(tmp_path: Path) -> None:
    """A wrong field, and a figure of another unit."""
    write(tmp_path, "switch", "acme", "name: A\nports: 64\nport_gbps: 400\npowr: 3 kW\n")
    write(tmp_path, "rack", "acme", "name: A\nrack_units: 48\nweight: 300 m\n")
    assert rules(tmp_path) == ["unit", "unknown-key"]


def test_an_overlay_is_checked_with_the_part_that_it_changes(tmp_path: Path) -> None:
    """A QM9700 with another number of cages contradicts its ports; its own words are not judged again."""
    write(tmp_path, "switch", "qm9700", "cages: 16\n")
    (problem,) = check_folder(str(tmp_path)).problems
    assert (problem.severity, problem.rule) == ("warning", "cross-check")
    assert "64 ports, but 16 cages of 2 have 32" in problem.message


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    """Neither for a file nor for a folder; nothing of the file is shown."""
    secret = tmp_path / "secret.yaml"
    secret.write_text("password: swordfish\n", encoding="utf-8")
    parts = tmp_path / "parts"
    (parts / "switch").mkdir(parents=True)
    (parts / "switch" / "acme.yaml").symlink_to(secret)
    (tmp_path / "nics").mkdir()
    (tmp_path / "nics" / "acme.yaml").write_text("name: A\n", encoding="utf-8")
    (parts / "nic").symlink_to(tmp_path / "nics")
    checked = check_folder(str(parts))
    assert [problem.rule for problem in checked.problems] == ["outside-root", "outside-root"]
    assert checked.contents == {}


def test_a_folder_that_is_itself_a_link_out_of_the_checkout_is_refused(tmp_path: Path) -> None:
    """As a plan that is such a link."""
    write(tmp_path / "elsewhere", "nic", "acme", "name: A\n")
    (tmp_path / "checkout" / ".git").mkdir(parents=True)
    (tmp_path / "checkout" / "parts").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(PlanErrors, match="leads out of its folder tree"):
        open_folders([str(tmp_path / "checkout" / "parts")])


def test_what_is_no_regular_file_is_not_opened(tmp_path: Path) -> None:
    """Reading a pipe would wait forever."""
    (tmp_path / "switch").mkdir()
    os.mkfifo(tmp_path / "switch" / "acme.yaml")
    (problem,) = check_folder(str(tmp_path)).problems
    assert "not a regular file" in problem.message


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is not taken for one without parts."""

    def refuse(place: Path) -> None:
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr(os, "scandir", refuse)
    with pytest.raises(PlanErrors, match=r"cannot be read \(Permission denied\)"):
        check_folder(str(tmp_path))


@pytest.mark.parametrize("sources", ["x", "[x]", "5"])
def test_sources_of_a_corrected_part_are_a_mapping(sources: str, tmp_path: Path) -> None:
    """Those of the built-in part are added to a mapping alone."""
    write(tmp_path, "switch", "qm9700", f"sources: {sources}\n")
    assert rules(tmp_path) == ["type"]


def test_files_that_attack_the_reader_are_refused(tmp_path: Path) -> None:
    """A bomb of aliases, and a huge file, of which no more is read than the limit."""
    bomb = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 10)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    write(tmp_path, "switch", "bomb", bomb)
    write(tmp_path, "switch", "huge", "name: " + "x" * (5 << 20))
    assert set(rules(tmp_path)) <= {"yaml-limit", "yaml"}
    assert len(rules(tmp_path)) == len(["bomb", "huge"])


def test_a_folder_of_very_many_files_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The work is counted as that of a plan is."""
    for number in range(20):
        write(tmp_path, "rack", f"rack-{number}", "name: A\n")
    monkeypatch.setattr(catalog_listing, "OF_NAME", MAX_STEPS // 10)
    assert rules(tmp_path) == ["work-limit"]


def test_a_number_of_very_many_parts_lists_a_few(tmp_path: Path) -> None:
    """Each part says so once, in a message of a bounded length; comparisons count as work."""
    for number in range(20):
        write(tmp_path, "rack", f"rack-{number}", "name: A\nrack_units: 48\npart_number: SAME\n")
    problems = check_folder(str(tmp_path)).problems
    assert [problem.rule for problem in problems] == ["number-twice"] * 20
    assert {problem.message.count("rack rack-") for problem in problems} == {SHOWN_OTHERS}
