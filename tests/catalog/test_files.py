"""The user's own part folders: how often they are read, what that counts as, and what they change."""

from __future__ import annotations

from pathlib import Path

import pytest

import bomgen
from bomgen.catalog import part_records
from bomgen.catalog.files import KINDS, NOT_PARTS, Catalog, schema_of_file
from bomgen.catalog.part_file_checks import implausible_figures, plausible_ranges
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import MAX_STEPS, OF_PART, OF_PART_LOOKUP, TooMuch, budget, spend
from bomgen.core.provenance import Cited, Given
from bomgen.core.resources import folder as folder_of_data
from bomgen.core.yaml_source import own

PARTS = 5
READ = PARTS * OF_PART
SEARCHED = PARTS * OF_PART_LOOKUP


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of modules that replace another."""
    (tmp_path / "transceiver").mkdir()
    for number in range(PARTS):
        place = tmp_path / "transceiver" / f"own-{number}.yaml"
        place.write_text(f"{{name: a, aliases: [a{number}], replaces: [mma4z00-ns]}}\n", encoding="utf-8")
    return tmp_path


def use(catalog: Catalog) -> None:
    """Search a catalogue for parts and names, with a substitute part too."""
    catalog.ids("transceiver")
    catalog.replacements("transceiver", {"mma4z00-ns"})
    catalog.find("transceiver", "a1")
    catalog.find("transceiver", "a2")
    other = catalog.substitute({("transceiver", "mma4z00-ns"): "own-1"})
    list(other.records_where("transceiver", "cage", "osfp-finned"))


def test_a_folder_is_read_once(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often its parts are searched, in alternatives too, a folder is listed once and each file opened once."""
    listed, opened = list[Path](), list[Path]()
    glob, open_file = Path.glob, Path.open
    monkeypatch.setattr(Path, "glob", lambda self, form: listed.append(self) or glob(self, form))
    monkeypatch.setattr(Path, "open", lambda self, *a, **b: opened.append(self) or open_file(self, *a, **b))
    catalog = Catalog((folder,))
    use(catalog)
    use(catalog)
    assert listed.count(folder / "transceiver") == 1
    assert sorted(path for path in opened if path.is_relative_to(folder)) == sorted(folder.glob("*/*.yaml"))


def test_parts_that_are_read_and_searched_are_work(folder: Path) -> None:
    """The files count once, and each search for parts or names counts every part of the folder."""
    searches = 4
    enough = READ + searches * SEARCHED
    with budget():
        spend(MAX_STEPS - enough)
        use(Catalog((folder,)))
    with budget():
        spend(MAX_STEPS - enough + 1)
        with pytest.raises(TooMuch):
            use(Catalog((folder,)))


# files of the user's own that change a built-in part ------------------------------------------------------------------

MODULE = "mma4z00-ns"


def own_file(folder: Path, kind: str, id: str, text: str) -> Path:
    """A folder of parts with one file."""
    (folder / kind).mkdir(parents=True, exist_ok=True)
    (folder / kind / f"{id}.yaml").write_text(text, encoding="utf-8")
    return folder


def problems_of(folder: Path, kind: str, id: str) -> list[str]:
    """What is wrong with a file of a user's own."""
    with pytest.raises(PlanErrors) as raised:
        Catalog((folder,)).find(kind, id)
    return [problem.message for problem in raised.value.problems]


def test_a_file_with_a_built_in_id_changes_the_fields_that_it_gives(tmp_path: Path) -> None:
    """Of a module with another power everything else is as the vendor says, each figure with its own origin."""
    built_in = Catalog().find("transceiver", MODULE)
    found = Catalog((own_file(tmp_path, "transceiver", MODULE, "power: 16 W\n"),)).find("transceiver", MODULE)
    assert {key: value for key, value in found.data.items() if key != "power"} == {
        key: value for key, value in built_in.data.items() if key != "power"
    }
    module = part_records.module(found)
    assert module.power_w is not None
    assert (module.power_w.value, module.optic, module.identity.name) == (16, "sr4", built_in.data["name"])
    assert isinstance(module.power_w.origin, Given)
    assert module.rate_gbps.origin == built_in.origin("rate_gbps")
    assert found.changes == {"power": ("17 W", "16 W")}


def test_sources_of_the_file_are_not_those_of_the_built_in_part(tmp_path: Path) -> None:
    """Where both call different documents by one name, each figure keeps the document it came from."""
    text = "power: {value: 16 W, source: [mma4]}\nsources: {mma4: {title: Own measurement}}\n"
    found = Catalog((own_file(tmp_path, "transceiver", MODULE, text),)).find("transceiver", MODULE)
    own, vendors = found.origin("power"), found.origin("rate_gbps")
    assert isinstance(own, Cited)
    assert isinstance(vendors, Cited)
    assert [reference.title for reference in own.references] == ["Own measurement"]
    assert "Own measurement" not in [reference.title for reference in vendors.references]


def test_replace_starts_from_nothing(tmp_path: Path) -> None:
    """Of a file that replaces a built-in part nothing is taken from that: what its kind needs is missing."""
    own_file(tmp_path, "gpu", "h100-sxm", "replace: true\npower: 650 W\n")
    assert [message.partition(";")[0] for message in problems_of(tmp_path, "gpu", "h100-sxm")] == [
        "the key 'memory' is missing",
        "the key 'name' is missing",
    ]
    own_file(tmp_path, "gpu", "h100-sxm", "replace: true\nname: Own\nmemory: 80 GB\n")
    found = Catalog((tmp_path,)).find("gpu", "h100-sxm")
    assert found.value("bf16_tflops") is None
    assert found.changes == {}


def test_a_file_extends_a_built_in_part(tmp_path: Path) -> None:
    """It has the fields that it does not state, but for those of one part; nothing outside the catalogue is read."""
    place = tmp_path / "switch" / "own.yaml"
    place.parent.mkdir()
    place.write_text("{extends: qm9700, name: mine, rack_units: 2}\n", encoding="utf-8")
    switch, base = Catalog([tmp_path]).find("switch", "own"), Catalog().find("switch", "qm9700")
    assert switch.value("ports") == base.value("ports")
    assert (switch.value("rack_units"), switch.value("part_number"), switch.changed) == (2, None, None)
    for name in ("own", "../switch/qm9700", "qm97000"):
        place.write_text(f"{{extends: {name}, name: mine}}\n", encoding="utf-8")
        with pytest.raises(PlanErrors, match=f"own.yaml:1:11: error: no built-in switch '{name}'"):
            Catalog([tmp_path]).find("switch", "own")


def test_folders_are_laid_over_each_other(tmp_path: Path) -> None:
    """The first folder changes what the second made of a built-in part."""
    first = own_file(tmp_path / "first", "gpu", "h100-sxm", "power: 650 W\n")
    second = own_file(tmp_path / "second", "gpu", "h100-sxm", "power: 600 W\nmemory: 94 GB\n")
    found = Catalog((first, second)).find("gpu", "h100-sxm")
    assert (found.value("power"), found.value("memory")) == ("650 W", "94 GB")
    assert found.value("bf16_tflops") == Catalog().find("gpu", "h100-sxm").value("bf16_tflops")


def test_what_a_file_changes_is_said(tmp_path: Path) -> None:
    """A build warns at the file, with both values."""
    own_file(tmp_path / "parts", "gpu", "h100-sxm", "power: 650 W\n")
    plan = tmp_path / "p.yaml"
    plan.write_text("{bomgen: 1, name: p, catalog: [parts/], cluster: {gpu: h100-sxm, servers: 2}}\n", encoding="utf-8")
    said = [str(problem) for problem in bomgen.check(plan) if problem.rule == "changed-part"]
    assert said == [
        "parts/gpu/h100-sxm.yaml:1:1: warning: this file changes the built-in gpu h100-sxm: power from 700 W to 650 W; "
        "its other fields are kept; set `replace: true` to replace the whole part [changed-part]"
    ]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("power: 18 W", "mms4x00-ns is used: mma4z00-ns draws 18 W, but the cage limit on QM9700 is 17 W"),
        ("reach: 10 m", "mms4x00-ns is used: reaches 10 m"),
        ("power: 16 W", None),
    ],
)
def test_links_that_lose_a_changed_part_are_said(tmp_path: Path, text: str, reason: str | None) -> None:
    """Where a changed figure leads to another part, the line of the change says so, once for all links, and why."""
    own_file(tmp_path / "parts", "transceiver", MODULE, f"{text}\n")
    plan = tmp_path / "p.yaml"
    fabrics = "{compute: {topology: rail-optimized, switch: qm9700}}"
    plan.write_text(
        f"{{bomgen: 1, name: p, catalog: [parts/], cluster: {{gpu: h100-sxm, servers: 64}}, fabrics: {fabrics}}}\n",
        encoding="utf-8",
    )
    said = [str(problem) for problem in bomgen.check(plan) if "no longer" in problem.message]
    links = "compute server-leaf and compute leaf-spine links"
    start = (
        f"parts/transceiver/{MODULE}.yaml:1:1: warning: with these changes, {MODULE} is no longer selected for {links}"
    )
    assert [line.startswith(f"{start}, and {reason}") for line in said] == [True] * bool(reason), said


def test_a_source_that_is_not_described_is_refused(tmp_path: Path) -> None:
    """A name of a document stands for what `sources:` says of it, here or in the built-in part that is changed."""
    own_file(tmp_path, "transceiver", MODULE, "power: {value: 16 W, source: [mail], confidence: high}\n")
    assert problems_of(tmp_path, "transceiver", MODULE) == [
        "the source 'mail' is not described in this file; add it under `sources:`, or write `unverified`"
    ]
    for source in ("mma4", "unverified"):
        own_file(tmp_path, "transceiver", MODULE, f"power: {{value: 16 W, source: [{source}], confidence: low}}\n")
        assert Catalog((tmp_path,)).find("transceiver", MODULE).value("power") == "16 W"


def test_a_changed_figure_has_its_unit(tmp_path: Path) -> None:
    """A bare number is said with the unit that it is read in."""
    own_file(tmp_path / "parts", "switch", "qm9700", "power: 2080\n")
    plan = tmp_path / "p.yaml"
    cluster, fabrics = "{gpu: h100-sxm, servers: 4}", "{compute: {switch: qm9700}}"
    text = f"{{bomgen: 1, name: p, catalog: [parts/], cluster: {cluster}, fabrics: {fabrics}}}\n"
    plan.write_text(text, encoding="utf-8")
    assert " to 2080 W;" in next(problem.message for problem in bomgen.check(plan) if problem.rule == "changed-part")


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("power: 2.2", "a `power` of 2.2 W is not plausible for a server (200 W to 2 MW); did you mean 2.2 kW?"),
        ("power: 10.2 MW", "a `power` of 10.2 MW is not plausible for a server (200 W to 2 MW); did you mean 10.2 kW?"),
        (
            "host_memory: 2000",
            "a `host_memory` of 2000 bytes is not plausible for a server (4 GB to 100 TB); did you mean 2000 GB?",
        ),
        ("weight: 130000", "a `weight` of 130000 kg is not plausible for a server (5 kg to 30000 kg); check its unit."),
        ("nics: 800", "a `nics` of 800 is not plausible for a server (1 to 240); check its unit."),
    ],
)
def test_a_figure_of_another_unit_is_refused(tmp_path: Path, text: str, meant: str) -> None:
    """A figure far from every part of its kind is a slip of the unit, and the message says what was meant."""
    own_file(tmp_path, "server", "dgx-h100", f"{text}\n")
    said = problems_of(tmp_path, "server", "dgx-h100")
    assert [message.startswith(meant) for message in said] == [True], said
    key, _, value = text.partition(": ")
    own_file(tmp_path, "server", "dgx-h100", f"{key}: {{value: {value}, confirmed: true}}\n")
    assert Catalog((tmp_path,)).find("server", "dgx-h100").value(key) is not None


def test_ports_of_a_group_are_judged_too(tmp_path: Path) -> None:
    """A switch with ports of several kinds has them in a list."""
    own_file(tmp_path, "switch", "own", "name: Own\nport_groups: [{ports: 64, port_gbps: 400000}]\n")
    said = problems_of(tmp_path, "switch", "own")
    assert said[0].startswith("a `port_gbps` of 400000 Gb/s is not plausible for a switch (1 Gb/s to 12800 Gb/s);")


@pytest.mark.parametrize("kind", sorted(set(KINDS) - set(NOT_PARTS)))
def test_built_in_parts_are_plausible_and_have_what_their_kind_needs(kind: str) -> None:
    """The ranges are wide enough for every part that bomgen knows, and each has the fields that files must give."""
    for record in Catalog().all(kind):
        assert [str(problem) for problem in implausible_figures(kind, record.source)] == [], record.id
        assert schema.check_schema(record.source, f"part/{kind}", schema_of_file) == [], record.id


def test_ranges_are_of_fields_that_there_are() -> None:
    """Each range is of a field of its kind, with a source, and its least is below its most."""
    path = folder_of_data("data") / "plausible-ranges.yaml"
    for kind, ranges in own(path, path.name).data.items():
        known = schema.document(f"part/{kind}")["properties"]
        assert [field for field, data in ranges.items() if field not in known or not data["source"]] == []
        assert all(found.least < found.most for found in plausible_ranges(kind).values())
