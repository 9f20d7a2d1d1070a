"""The schema of plans with the ids of the catalogue: what it offers, and that it is as strict as without them."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from click.testing import CliRunner

from bomgen.catalog.files import KINDS, Catalog
from bomgen.cli import command
from bomgen.core.yaml_source import read
from bomgen.plan.schema import document
from bomgen.workflow.catalog_listing import plan_schema

ROOT = Path(__file__).parents[2]
PLANS = sorted((ROOT / "plans").glob("*.yaml"))
FILE = ROOT / "schemas" / "plan.catalog.schema.json"
PART = "name: Own switch\nports: 48\nport_gbps: 800\n"


def keys(data: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key that the schema of plans describes, with its path."""
    if isinstance(data, dict):
        for name, entry in data.get("properties", {}).items():
            if isinstance(entry, dict) and "description" in entry:
                yield f"{path}.{name}", entry
        for name, below in data.items():
            if name != "examples":
                yield from keys(below, f"{path}.{name}")
    elif isinstance(data, list):
        for number, below in enumerate(data):
            yield from keys(below, f"{path}.{number}")


def target(reference: str) -> Any:
    """What a reference of the schema of plans leads to."""
    found: Any = document("plan")
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    return found


def schema_of(*arguments: str) -> dict[str, Any]:
    """What `bomgen schema plan` prints."""
    outcome = CliRunner().invoke(command.main, ["schema", "plan", *arguments])
    assert 0 == outcome.exit_code, outcome.output
    found: dict[str, Any] = json.loads(outcome.stdout)
    return found


def verdicts(given: dict[str, Any]) -> list[bool]:
    """Whether a plan with some keys is right by the schema of plans, and by that with ids."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "h100-sxm"}, **given}
    schemas = (document("plan"), plan_schema(Catalog()))
    return [jsonschema.Draft202012Validator(schema).is_valid(plan) for schema in schemas]


def test_the_file_that_plans_name_is_what_is_printed() -> None:
    """The schema that plans of the checkout name in their first line; `make build` writes it."""
    assert json.loads(FILE.read_text("utf-8")) == schema_of("--with-catalog")


def test_every_key_that_takes_an_id_says_of_which_kind() -> None:
    """A description that speaks of a catalogue id has the kinds beside it, and those there are."""
    said = {path: entry for path, entry in keys(document("plan")) if "catalogue id" in entry["description"].lower()}
    marked = {path: entry["x-catalog"] for path, entry in keys(document("plan")) if "x-catalog" in entry}
    assert len(marked) > 20
    assert [] == [kind for kinds in marked.values() for kind in kinds if kind not in KINDS]
    as_keys = {path for path, entry in said.items() if "x-catalog" in entry.get("propertyNames", {})}
    referred = {path for path, entry in said.items() if "x-catalog" in target(entry.get("$ref", "#/title"))}
    general = {path for path in said if path.endswith((".replaces", ".$defs.part"))}
    assert [] == sorted(said.keys() - marked.keys() - as_keys - referred - general)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_ids_do_not_make_a_plan_wrong(plan: Path) -> None:
    """What is right by the schema of plans is right by that with ids."""
    data = read(plan.read_text("utf-8"), plan.name).data
    assert [] == list(jsonschema.Draft202012Validator(json.loads(FILE.read_text("utf-8"))).iter_errors(data))


@pytest.mark.parametrize(
    ("key", "value", "right"),
    [
        ("switch", "qm9700", True),
        ("switch", "MQM9700-NS2F", True),
        ("switch", "mqm9700-ns2f", True),
        ("switch", {"ports": 64, "port_gbps": 400}, True),
        ("switch", {"portz": 64}, False),
        ("switch", 5, False),
        ("switch", "", False),
        ("links", {"leaf-spine": {"module": "MMA4Z00-NS"}}, True),
        ("links", {"leaf-spine": {"fibre": "MFP7E10-N030"}}, True),
        ("links", {"leaf-spine": {"fibre": "mfp7e10-nxxx"}}, True),
        ("links", {"leaf-spine": {"module": {"leef": "own"}}}, False),
    ],
)
def test_as_strict_as_without_ids(key: str, value: Any, right: bool) -> None:
    """Other names of a part are right, and what the schema of plans refuses is refused with ids too."""
    assert [right, right] == verdicts({"fabrics": {"compute": {key: value}}})


@pytest.mark.parametrize(
    "given",
    [
        {"cluster": {"gpu": "h100-sxn"}},
        {"fabrics": {"compute": {"switch": "own"}}},
        {"fabrics": {"compute": {"switch": "qm97000"}}},
        {"fabrics": {"compute": {"links": {"leaf-spine": {"module": "own"}}}}},
        {"fabrics": {"compute": {"links": {"leaf-spine": {"fibre": "mfp7e10-n03"}}}}},
        {"quote": {"alternatives": [{"name": "b", "substitute": {"transceiver": "own"}}]}},
    ],
    ids=["misspelt", "own", "longer", "own-module", "half-a-length", "substitute"],
)
def test_a_name_that_the_catalogue_lacks_is_wrong(given: dict[str, Any]) -> None:
    """Only the schema with ids knows that no part has a name; the one without takes parts of the user's own."""
    assert [True, False] == verdicts(given)


def test_words_beside_ids_are_right() -> None:
    """A substitute may be any that is compatible, and a part that is in stock or has a price is in no catalogue."""
    quote = {
        "alternatives": [{"name": "b", "substitute": {"transceiver": "compatible"}}],
        "discount": {"parts": {"own": "5%"}},
    }
    assert [True, True] == verdicts({"stock": {"own": 2}, "quote": quote})


def test_every_name_that_finds_a_part_is_right() -> None:
    """Ids, part numbers and aliases as they are written, and ids in capitals."""
    catalog = Catalog()
    schema = plan_schema(catalog)
    for kind in ("gpu", "switch", "cable", "model"):
        definition = jsonschema.Draft202012Validator(schema["$defs"][f"catalog-{kind}"])
        for record in catalog.all(kind):
            numbers = [number for key in ("part_number", "ordering_number") if (number := record.value(key))]
            names = [record.id, record.id.upper(), *record.data.get("aliases", ()), *numbers]
            assert [] == [name for name in names if not definition.is_valid(name)]


def test_no_proposal_is_a_mapping() -> None:
    """Editors propose examples and defaults, and would write a mapping as `[object Object]`."""

    def proposals(data: Any, key: str = "") -> Iterator[Any]:
        if isinstance(data, dict):
            for name, below in data.items():
                yield from proposals(below, name)
            if key != "properties":
                yield from (*data.get("examples", ()), data.get("default"))
        elif isinstance(data, list):
            for below in data:
                yield from proposals(below)

    found = list(proposals(plan_schema(Catalog())))
    assert "h100-sxm" in found
    assert [] == [each for each in found if isinstance(each, dict)]


def test_ids_of_a_part_folder(tmp_path: Path) -> None:
    """A part of the user's own is offered beside those of the catalogue, by `--parts` alone or with the flag."""
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "own-48.yaml").write_text(PART, encoding="utf-8")
    for arguments in (["--parts", str(tmp_path)], ["--with-catalog", "--parts", str(tmp_path)]):
        offered = {each.get("const"): each for each in schema_of(*arguments)["$defs"]["catalog-switch"]["anyOf"]}
        assert {"own-48", "qm9700"} <= offered.keys()
        assert ("Own switch", "ports 48, port gbps 800") == (
            offered["own-48"]["title"],
            offered["own-48"]["description"],
        )


def test_a_wrong_part_is_pointed_out(tmp_path: Path) -> None:
    """A part file that is wrong ends the command with its line and exit code 1."""
    (tmp_path / "switch").mkdir()
    (tmp_path / "switch" / "own.yaml").write_text(PART + "portz: 3\n", encoding="utf-8")
    outcome = CliRunner().invoke(command.main, ["schema", "plan", "--parts", str(tmp_path)])
    assert (1, "") == (outcome.exit_code, outcome.stdout)
    assert f"{tmp_path}/switch/own.yaml:4:1: error: unknown key 'portz'" in outcome.stderr
    assert "  4 | portz: 3" in outcome.stderr


@pytest.mark.parametrize("arguments", [["bom", "--with-catalog"], ["plan", "--parts", "nowhere"]])
def test_ids_belong_to_plans(arguments: list[str]) -> None:
    """Only the schema of plans has ids, and a part folder is one."""
    assert 2 == CliRunner().invoke(command.main, ["schema", *arguments]).exit_code
