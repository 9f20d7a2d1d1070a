"""Validators that others wrote accept the schemas, the plans, bom.json and the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from bomgen.schema import document
from bomgen.source import read

CHECKOUT = Path(__file__).parents[2]
SCHEMAS = sorted((CHECKOUT / "schemas").rglob("*.json"))
PLANS = sorted((CHECKOUT / "plans").glob("*.yaml"))
HERE = Path(__file__).parent
WITH_CATALOG = CHECKOUT / "schemas" / "plan.catalog.schema.json"
"""The schema that the plans of the checkout name."""


@pytest.fixture(scope="module")
def check_jsonschema(judge, run):
    """Run check-jsonschema on files."""
    judge("python:check_jsonschema")
    return lambda *arguments: run(sys.executable, "-m", "check_jsonschema", *arguments)


@pytest.fixture(scope="module")
def ajv(judge, run):
    """Run ajv, strict: a mistyped keyword is an error."""
    program = judge("npm:ajv-cli") / "dist" / "index.js"
    keywords = HERE / "ajv_keywords.cjs"
    options = ("--strict=true", "--allow-union-types", "--spec=draft2020")
    return lambda command, *arguments: run(
        "node", program, command, *options, "-c", "ajv-formats", "-c", keywords, *arguments
    )


@pytest.fixture(scope="module")
def plan_schema(tmp_path_factory):
    """The schema of plans as `bomgen schema plan` prints it: with the topologies that there are."""
    place = tmp_path_factory.mktemp("schema") / "plan.schema.json"
    place.write_text(json.dumps(document("plan")), encoding="utf-8")
    return place


def test_schemas_are_schemas(check_jsonschema):
    """Every schema of the checkout is valid against its metaschema."""
    assert SCHEMAS
    done = check_jsonschema("--check-metaschema", *SCHEMAS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_plans_are_valid(check_jsonschema, plan_schema):
    """Every plan of the checkout is valid against the plan schema, judged by check-jsonschema."""
    done = check_jsonschema("--schemafile", plan_schema, *PLANS)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_plan_is_refused(check_jsonschema, plan_schema, tmp_path):
    """A key that no plan has is refused, so that accepting a plan means something."""
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text("bomgen: 1\nname: wrong\ncluster: {gpu: a100-sxm-80, gpuz: 8}\n", encoding="utf-8")
    done = check_jsonschema("--schemafile", plan_schema, wrong)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "gpuz" in done.stdout


def test_bills_are_valid(quotes, check_jsonschema):
    """Every bom.json is valid against the schema of bom.json."""
    done = check_jsonschema(
        "--schemafile", "schemas/bom.schema.json", *(folder / "bom.json" for folder in quotes.values())
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_plan_schema_compiles_strictly(ajv, plan_schema):
    """Ajv in strict mode compiles the plan schema, without and with ids: no unknown or ignored keyword."""
    done = ajv("compile", "-s", plan_schema, "-s", WITH_CATALOG)
    assert done.returncode == 0, done.stdout + done.stderr


def test_ajv_notices_a_mistyped_keyword(ajv, tmp_path):
    """A mistyped keyword is refused, so that compiling a schema means something."""
    wrong = tmp_path / "wrong.json"
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "number", "minimun": 1}
    wrong.write_text(json.dumps(schema), encoding="utf-8")
    done = ajv("compile", "-s", wrong)
    assert done.returncode == 1
    assert "minimun" in done.stdout + done.stderr


def test_ajv_accepts_the_plans(ajv, plan_schema, tmp_path):
    """Every plan of the checkout, as bomgen reads its YAML, is valid against the plan schema, judged by ajv."""
    for plan in PLANS:
        data = read(plan.read_text("utf-8"), plan.name).data
        (tmp_path / f"{plan.stem}.json").write_text(json.dumps(data, default=float), encoding="utf-8")
    for schema in (plan_schema, WITH_CATALOG):
        done = ajv("validate", "-s", schema, "-d", tmp_path / "*.json")
        assert done.returncode == 0, done.stdout + done.stderr


def test_pages_are_valid_html(quotes, judge, run):
    """Every quote.html is valid, judged by html-validate with its rules for the standard."""
    program = judge("npm:html-validate") / "bin" / "html-validate.mjs"
    pages = [folder / "quote.html" for folder in quotes.values()]
    done = run("node", program, "--config", HERE / "htmlvalidate.json", "--formatter", "text", *pages)
    assert done.returncode == 0, done.stdout + done.stderr
