"""`python cyclonedx_says.py FILE...`: what CycloneDX's own library says of BOMs, one after the other, as JSON.

`1.6` and `1.7`: what its strict validator finds wrong in the BOM as one of that version, or null. `refs`: the
references of all components that it reads; null where the BOM is not valid. It needs the packages of
requirements/release.txt.
"""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from cyclonedx.model.bom import Bom
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from jsonschema import Draft7Validator

formats = Draft7Validator.FORMAT_CHECKER.checkers
# The grammar of an address takes tens of milliseconds, and the parts of a bill name the same few again and again.
formats["iri-reference"] = (cache(formats["iri-reference"][0]), *formats["iri-reference"][1:])
VALIDATORS = {version: JsonStrictValidator(SchemaVersion.from_version(version)) for version in ("1.6", "1.7")}


def said(path: Path) -> dict[str, Any]:
    """What is said of one file."""
    text = path.read_text("utf-8")
    found: dict[str, Any] = {}
    for version, validator in VALIDATORS.items():
        as_version = text.replace("schema/bom-1.6", f"schema/bom-{version}")
        error = validator.validate_str(as_version.replace('"specVersion": "1.6"', f'"specVersion": "{version}"'))
        found[version] = None if error is None else str(error)
    return {**found, "refs": None if any(found.values()) else _refs(json.loads(text))}


def _refs(data: dict[str, Any]) -> list[str]:
    bom = Bom.from_json(data)
    bom.validate()
    return sorted({each.bom_ref.value for top in bom.components for each in top.get_all_nested_components(True)})


if __name__ == "__main__":
    print(json.dumps([said(Path(path)) for path in sys.argv[1:]]))
