"""Validators that others wrote accept the schemas, the plans, bom.json, the hardware BOM and the page."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import release
from depth import few

from bomgen.core.yaml_source import read
from bomgen.plan.schema import document

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
def cyclonedx(judge, run):
    """What CycloneDX's own library says of BOMs; it lies apart, see the Makefile."""
    python = judge("tools:cyclonedx")
    program = HERE / "cyclonedx_says.py"

    def says(*paths):
        done = run(python, program, *paths)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return says


@pytest.fixture(scope="module")
def said(quotes, cyclonedx):
    """What is said of every bom.cdx.json, by plan."""
    return dict(zip(quotes, cyclonedx(*(folder / "bom.cdx.json" for folder in quotes.values())), strict=True))


def in_bom(components):
    """The components with those inside them."""
    for component in components:
        yield component
        yield from in_bom(component.get("components", ()))


def value_in(component, *names):
    """The value of the property of one of these names."""
    return next((each["value"] for each in component.get("properties", ()) if each["name"] in names), None)


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


def test_hardware_boms_are_valid(plan, quotes, said):
    """Every bom.cdx.json is valid CycloneDX 1.6 to the strict validator of its own library, and would be as 1.7."""
    assert json.loads((quotes[plan] / "bom.cdx.json").read_text("utf-8"))["specVersion"] == "1.6"
    assert (said[plan]["1.6"], said[plan]["1.7"]) == (None, None)


def test_hardware_boms_are_read_by_the_library(plan, quotes, said):
    """The library of CycloneDX reads every bom.cdx.json, finds each component in it, and its dependencies sound."""
    data = json.loads((quotes[plan] / "bom.cdx.json").read_text("utf-8"))
    assert said[plan]["refs"] == sorted({each["bom-ref"] for each in in_bom(data["components"])})


def test_the_validator_of_hardware_boms_judges(cyclonedx, tmp_path):
    """The SBOM of a release is valid too; a key that CycloneDX has not, and an address that is none, are refused."""
    bom = {"bomFormat": "CycloneDX", "specVersion": "1.6", "version": 1}
    part = {"type": "device", "name": "switch"}
    reference = {"type": "documentation", "url": "http://[::"}
    wrong = ({**part, "quantity": 3}, {**part, "externalReferences": [reference]})
    texts = [release.sbom().decode(), *(json.dumps({**bom, "components": [each]}) for each in (part, *wrong))]
    paths = [tmp_path / f"{number}.json" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    assert [each["1.6"] is None for each in cyclonedx(*paths)] == [True, True, False, False]


def test_hardware_boms_have_the_quantities_of_the_bill(quotes):
    """The quantities of every bom.cdx.json are those of bom.json, line by line; references are unique and known."""
    for folder in quotes.values():
        bill = json.loads((folder / "bom.json").read_text("utf-8"))
        bom = json.loads((folder / "bom.cdx.json").read_text("utf-8"))
        components, services = list(in_bom(bom["components"])), bom.get("services", [])
        pieces: dict[tuple[str, bool], int] = {}
        for each in (*components, *services):
            quantity = value_in(each, "cdx:device:quantity", "bomgen:quantity")
            if quantity is not None:
                key = (value_in(each, "bomgen:line"), value_in(each, "bomgen:spare") == "true")
                assert key not in pieces
                pieces[key] = int(quantity)
        wanted = {(line["id"], False): line["quantity"] for line in bill["lines"] if line["quantity"]}
        wanted |= {(line["id"], True): line["spare"] for line in bill["lines"] if line["spare"]}
        assert pieces == wanted, folder.name
        references = [each["bom-ref"] for each in (bom["metadata"]["component"], *components, *services)]
        assert len(references) == len(set(references))
        known = {bom["metadata"]["component"]["bom-ref"], *(each["bom-ref"] for each in components)}
        assert {ref for each in bom["dependencies"] for ref in (each["ref"], *each["dependsOn"])} == known


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
    """quote.html and report.html are valid, judged by html-validate with its rules for the standard."""
    program = judge("npm:html-validate") / "bin" / "html-validate.mjs"
    pages = [folder / f"{kind}.html" for folder in few(quotes.values(), 3) for kind in ("quote", "report")]
    done = run("node", program, "--config", HERE / "htmlvalidate.json", "--formatter", "text", *pages)
    assert done.returncode == 0, done.stdout + done.stderr
