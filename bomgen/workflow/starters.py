"""The text of new plans: a commented starter, or one of the designs in the package."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import getitem
from pathlib import Path
from typing import NamedTuple

from bomgen.catalog.files import Catalog
from bomgen.core.diagnostics import PlanErrors, nearest
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH, message
from bomgen.core.resources import folder
from bomgen.core.resources import text as own_text
from bomgen.core.safety import DEVICES
from bomgen.core.yaml_source import Source, own, read

DEFAULT = "default"
STARTER_NAME = "my-cluster"
"""The name of the starter in its data and comments."""
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LENGTH = 64
"""Maximum length of a plan's name, as in the plan schema."""
USUAL_GPU = "h100-sxm"
"""The GPU of a new plan, which is that of the starter."""
RULE = (
    f"lower-case letters, digits and hyphens, a letter or digit first, {NAME_LENGTH} characters at most, "
    "and no device of Windows"
)
OUTSIDE: Sequence[tuple[str, ...]] = (("quote", "price_book"), ("quote", "cost_book"), ("templates",))
"""Keys that name a file which a copy of a design does not include."""
OF_QUOTE: Mapping[tuple[str, ...], str] = {
    ("title",): "TITLE",
    ("quote", "customer"): "NAME",
    ("quote", "vendor"): "NAME",
    ("quote", "number"): "NUMBER",
    ("quote", "date"): "YYYY-MM-DD",
}
"""Keys that say what the design's quote is called, whose it is and of when, and what to write there for a new one."""
NEEDING = ("catalog", "extends")
"""Plan keys that depend on files which a copy would not have."""
SCHEMA_FILE = "bomgen.schema.json"
"""File name of the plan schema next to a plan, for editors."""
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""First line of a YAML file that names its schema for editors."""
_MODELINE = re.compile(r"\A# yaml-language-server:.*\n")


def is_name(name: str) -> bool:
    """Return whether a text is a valid plan name."""
    return bool(NAME.fullmatch(name)) and len(name) <= NAME_LENGTH and name not in DEVICES


def nearest_name(name: str) -> str | None:
    """Return the valid plan name closest to a text or to the end of a path; None if nothing remains."""
    end = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    words = re.findall(r"[a-z0-9]+", re.sub(r"\.ya?ml$", "", end.lower()))
    plan_name = "-".join(words)[:NAME_LENGTH].rstrip("-")
    return plan_name if is_name(plan_name) else None


def designs() -> dict[str, Path]:
    """Return the plans in the package, by name, that need no other files."""
    paths = {}
    for path in sorted(folder("plans").glob("*.yaml")):
        data = own(path, path.name).data
        if not data.keys() & NEEDING:
            paths[path.stem] = path
    return paths


def nearest_designs(name: str) -> list[str]:
    """Return the designs whose names are closest to a mistyped one."""
    return nearest(name, designs(), count=2)


class Inquiry(NamedTuple):
    """A customer inquiry in plan keys: values of the cluster and of its compute fabric."""

    cluster: Mapping[str, str | int]
    fabric: Mapping[str, str | float]
    quote: Mapping[str, str]
    extends: str | None = None


def inquired(name: str, asked: Inquiry, schema_beside: bool = False, words: Language | None = None) -> str:
    """Return the text of a plan for an inquiry, by default with English comments.

    Without fabric keys its compute fabric is the default one.
    """
    words = words or language(ENGLISH)
    lines = [
        f"# {words.message(message('plan-builds', id=name))}",
        f"# {words.message(message('plan-lines'))}",
        "bomgen: 1",
        f"name: {_written(name)}",
        f"#title: {words.message(message('plan-title'))}",
        *([f"extends: {_written(asked.extends)}"] if asked.extends else []),
        "",
        f"cluster: {_mapping(asked.cluster)}",
        "",
        "fabrics:",
        f"  compute: {_mapping(asked.fabric) if asked.fabric else DEFAULT}",
        "  #storage: default",
        "  #in_band: default",
        "  #out_of_band: default",
        "",
        "#site: {rack: {units: 48, power: 40 kW}, layout: auto, pue: 1.3}",
    ]
    if asked.quote:
        lines += ["", "quote:", *(f"  {key}: {_written(value)}" for key, value in asked.quote.items())]
    return _headed("\n".join(lines) + "\n", schema_beside)


def server_of(gpu: str) -> tuple[str, tuple[str, ...]] | None:
    """Return the default server of a GPU of the catalogue, and the other servers with it; None if it has none."""
    catalog = Catalog()
    named = catalog.find("gpu", gpu).id
    default = catalog.default_server(named)
    if default is None:
        return None
    others = (record.id for record in catalog.records_where("server", "gpu", named))
    return default.id, tuple(sorted(id for id in others if id != default.id))


def seller() -> str:
    """Return the commented base file that all plans of one seller extend."""
    return own_text(folder("templates") / "seller.yaml")


def _mapping(pairs: Mapping[str, str | int | float]) -> str:
    written = (f"{key}: {_written(value) if isinstance(value, str) else f'{value:g}'}" for key, value in pairs.items())
    return f"{{{', '.join(written)}}}"


def starter(name: str, schema_beside: bool = False) -> str:
    """Return the commented starter under a name; with `schema_beside` its first line names the schema for editors."""
    text = own_text(folder("templates") / "starter.yaml")
    return _headed(_renamed(text, name).replace(STARTER_NAME, name), schema_beside)


def started_from(design: str, name: str, schema_beside: bool = False) -> str:
    """Return the text of a design under another name, without the files, title, parties, number and date of its quote.

    Raises KeyError for an unknown design.
    """
    text = own_text(designs()[design])
    return _headed(_renamed(_comment_own(text), name), schema_beside)


def _headed(text: str, schema_beside: bool) -> str:
    """Return a text with this schema line as its first line, in place of an existing one."""
    return (MODELINE if schema_beside else "") + _MODELINE.sub("", text)


def _renamed(text: str, name: str) -> str:
    """Return the text of a plan under another name, with its comments unchanged."""
    return _replaced(text, "name", _written(name))


def _written(name: str) -> str:
    """Return a name as YAML, quoted if it would be read as a number or null."""
    try:
        plain = read(f"[{name}]", "name").data == [name]
    except PlanErrors:
        plain = False
    return name if plain else json.dumps(name, ensure_ascii=False)


def _replaced(text: str, key: str, value: str) -> str:
    """Return the text of a mapping with another plain value at a top-level key."""
    source = read(text, "plan")
    mark = source.mark((key,))
    lines = text.splitlines(keepends=True)
    line = lines[mark.line - 1]
    before, old = line[: mark.column - 1], str(source.data[key])
    rest = line[mark.column - 1 + len(old) :]
    if rest.lstrip(" ").startswith("#"):
        blanks = len(rest) - len(rest.lstrip(" ")) + len(old) - len(value)
        rest = " " * max(blanks, 1) + rest.lstrip(" ")
    lines[mark.line - 1] = before + value + rest
    return "".join(lines)


def _comment_own(text: str) -> str:
    """Comment out the keys of a plan that belong to its own quote or name a file."""
    source = read(text, "plan")
    lines = text.splitlines(keepends=True)
    for path in OUTSIDE:
        if path in source.keys:
            _comment_out(lines, source, path, "FILE    # one of your own, relative to this plan")
    for path, wanted in OF_QUOTE.items():
        if path in source.keys:
            _comment_out(lines, source, path, f"{wanted}    # of your quote")
    return "".join(lines)


def _comment_out(lines: list[str], source: Source, path: tuple[str, ...], note: str) -> None:
    """Replace a key and its value, or its whole block, by one commented line."""
    mark = source.keys[path]
    line = lines[mark.line - 1]
    indent, key = mark.column - 1, path[-1]
    value = line[indent:].partition(":")[2].strip()
    held = reduce(getitem, path, source.data)
    if isinstance(held, dict):
        value = str(held["name"])
    for at in range(mark.line, len(lines)):
        below = lines[at]
        if below.strip() and len(below) - len(below.lstrip()) <= indent:
            break
        if below.strip():
            lines[at] = ""
    lines[mark.line - 1] = line[:indent] + f"#{key}: {note}; the design had {value}\n"
