"""Keys of plans that records take as the schema declares them: annotations, units, defaults and assumptions match."""

# ruff: noqa: SIM300

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

import jsonschema
import pytest

from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Figure
from bomgen.core.resources import unfold
from bomgen.plan.commercial_terms import Alternative, Charge, Exchange, Operation, Party, QuotePlan
from bomgen.plan.schema import ASSUMED, KEY, PLAN, Declaration, declaration_at, document, with_defaults
from bomgen.plan.types import (
    Cluster,
    Compute,
    Degrees,
    FabricPlan,
    Hosts,
    Inference,
    Layout,
    OwnSpeed,
    OwnStep,
    Parallelism,
    Reinforcement,
    Site,
    Storage,
    Targets,
    Training,
    Tuning,
    UseCase,
)

CATALOG = Catalog()
PLACES: dict[type[tuple[Any, ...]], str] = {
    Training: "workload training",
    Tuning: "workload fine_tuning",
    Parallelism: "workload training parallelism",
    OwnStep: "workload training measured 0",
    Reinforcement: "workload reinforcement",
    Inference: "workload inference",
    Degrees: "workload inference parallelism",
    Targets: "workload inference targets",
    UseCase: "workload inference use_cases 0",
    OwnSpeed: "workload inference measured 0",
    Compute: "workload compute",
    Cluster: "cluster",
    FabricPlan: "fabrics any",
    Hosts: "fabrics any hosts 0",
    Storage: "storage",
    Site: "site",
    Layout: "site layout",
    QuotePlan: "quote",
    Party: "quote customer",
    Exchange: "quote exchange EUR",
    Charge: "quote charges 0",
    Alternative: "quote alternatives 0",
    Operation: "operation",
}
"""Where the records that have plain keys are read."""


def steps_of(place: str) -> list[str | None]:
    """The steps to a place of a plan; None for an item of a list."""
    return [None if step.isdigit() else step for step in place.split()]


def plain_keys() -> Iterator[tuple[type[tuple[Any, ...]], str, Any]]:
    """Every plain key: its record, and the type of its value."""
    for record in PLACES:
        for key, hint in get_type_hints(record, include_extras=True).items():
            if get_args(hint)[1:] == (KEY,):
                yield record, key, get_args(hint)[0]


KEYS = list(plain_keys())


def types_of(schema: dict[str, Any]) -> list[str]:
    """The types that a schema names; words may be listed without one."""
    types = schema.get("type", ["string"] if "enum" in schema else [])
    return [types] if isinstance(types, str) else types


@pytest.mark.parametrize(("record", "key", "kind"), KEYS, ids=lambda each: getattr(each, "__name__", str(each)))
def test_a_plain_key_is_annotated_as_the_schema_declares_it(record: Any, key: str, kind: Any) -> None:
    """What is never missing is required, or has an assumption or a default; what may be missing has neither."""
    place = steps_of(PLACES[record])
    declared = declaration_at([*place, key])
    required = any(key in part.get("required", ()) for part in declaration_at(place).parts)
    types = {word for part in declared.parts for word in types_of(part)}
    if kind in (Figure, Figure | None):
        assert declared.unit == "word" or types & {"number", "integer"}
        assert declared.unit != "word" or types <= {"string", "boolean", "object"}
        assert (kind is Figure) <= (required or declared.assumption is not None)
    elif kind in (str, str | None):
        assert "string" in types
        assert (kind is str) == (required or declared.default is not None)
    else:
        assert ({"boolean"} if kind is bool else {"array"}) <= types
    assert declared.assumption is None or kind in (Figure, Figure | None)


def test_records_with_plain_keys_are_all_looked_at() -> None:
    """No record with such keys is missing above."""
    assert len(KEYS) > 100
    assert set(PLACES) == {record for record, _, _ in KEYS}


def assumed(schema: Any, path: str = "") -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Every schema with an assumption: its path, itself, and it with what it refers to."""
    if isinstance(schema, dict):
        if isinstance(schema.get(ASSUMED), str):
            whole: dict[str, Any] = {}
            for part in unfold(document(PLAN), schema):
                whole = part | whole
            yield path, schema, whole
        for key, below in schema.items():
            if key != "examples":
                yield from assumed(below, f"{path}/{key}")


SHOWN = list(assumed(with_defaults(PLAN)))


@pytest.mark.parametrize(("schema", "whole"), [each[1:] for each in SHOWN], ids=[each[0] for each in SHOWN])
def test_an_assumption_has_the_unit_of_its_key(schema: dict[str, Any], whole: dict[str, Any]) -> None:
    """It is a quantity in that unit or a word, and editors show its value as a default that the schema allows."""
    found = CATALOG.assumption(schema[ASSUMED])
    assert Declaration([schema]).unit == found.unit
    own = {key: value for key, value in whole.items() if key not in ("$ref", "x-catalog")}
    jsonschema.Draft202012Validator(own | {"$defs": document(PLAN)["$defs"]}).validate(schema["default"])


def test_defaults_that_follow_from_assumptions_stand_once() -> None:
    """The file of the schema has no default beside an assumption, and there are many."""
    assert len(SHOWN) > 60
    assert [] == [path for path, schema, _ in assumed(document(PLAN)) if "default" in schema]
