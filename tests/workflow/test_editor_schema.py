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
from bomgen.workflow.editor_schema import plan_schema

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


def test_the_file_of_the_checkout_is_what_is_printed() -> None:
    """The schema that the plans of the checkout name is up to date; `make docs` writes it."""
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
        ("switch", "own", True),
        ("switch", {"ports": 64, "port_gbps": 400}, True),
        ("switch", {"portz": 64}, False),
        ("switch", 5, False),
        ("switch", "", False),
        ("links", {"leaf-spine": {"module": "own"}}, True),
        ("links", {"leaf-spine": {"module": {"leef": "own"}}}, False),
    ],
)
def test_as_strict_as_without_ids(key: str, value: Any, right: bool) -> None:
    """Other names are right, and what the schema of plans refuses is refused with ids too."""
    plan = {"bomgen": 1, "name": "a", "cluster": {"gpu": "h100-sxm"}, "fabrics": {"compute": {key: value}}}
    verdicts = [
        jsonschema.Draft202012Validator(schema).is_valid(plan) for schema in (document("plan"), plan_schema(Catalog()))
    ]
    assert [right, right] == verdicts


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
