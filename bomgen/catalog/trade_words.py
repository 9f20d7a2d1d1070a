"""Words of the trade in users' part files: `QSFP-DD`, `SMF` or `MPO-12/APC` become the value that the schema has.

The canonical value is stored, so that nothing else compares spellings. Other words of a field are listed in
`bomgen/data/trade-words.yaml`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from bomgen.core.resources import folder
from bomgen.core.yaml_source import Source, own

FILE = "trade-words.yaml"
_LOCAL = "#/$defs/"
_IGNORED = re.compile(r"[\W_]+")


def with_canonical_words(source: Source, schema: Mapping[str, Any]) -> Source:
    """Return the source of a part file with the values of its schema in place of other words for them."""
    return source._replace(data=_canonical(source.data, schema, schema.get("$defs", {}), ""))


def _canonical(data: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], field: str) -> Any:
    if "$ref" in schema:
        schema = defs.get(str(schema["$ref"]).removeprefix(_LOCAL), {})
    if isinstance(data, dict):
        below = schema.get("properties", {})
        return {key: _canonical(value, below.get(key, {}), defs, str(key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_canonical(each, schema.get("items", {}), defs, field) for each in data]
    if isinstance(data, str) and data not in schema.get("enum", (data,)):
        return _word(data, tuple(schema["enum"]), field)
    return data


def _word(written: str, values: tuple[Any, ...], field: str) -> str:
    """Return the value that a word means in a field; the word itself if it means none, which the schema refuses."""
    form = _form(written)
    spelled = next((value for value in values if isinstance(value, str) and _form(value) == form), None)
    meant = spelled or _meanings(field).get(form, written)
    return meant if meant in values else written


def _form(word: str) -> str:
    """Return a word without case, spaces and punctuation; a plus sign tells SFP+ from SFP."""
    return _IGNORED.sub("", word.lower().replace("+", "plus"))


@cache
def _meanings(field: str) -> Mapping[str, str]:
    groups: Mapping[str, Any] = own(folder("data") / FILE, FILE).data
    words = groups.get("connector" if field == "far_connector" else field, {})
    return {_form(word): value for value, others in words.items() for word in others}
