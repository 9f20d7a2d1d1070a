"""What a new plan is begun from: a commented starter, or one of the designs that the package carries."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from bomgen.core.diagnostics import PlanErrors, nearest
from bomgen.core.resources import folder
from bomgen.core.resources import text as own_text
from bomgen.core.safety import DEVICES
from bomgen.core.yaml_source import Source, own, read

DEFAULT = "default"
STARTER_NAME = "my-cluster"
"""What the starter is called, in its data and its comments."""
NAME = re.compile(r"[a-z0-9][a-z0-9-]*")
NAME_LENGTH = 64
"""Characters of a plan's name at most, as the schema of plans says."""
RULE = (
    f"lower-case letters, digits and hyphens, a letter or digit first, {NAME_LENGTH} characters at most, "
    "and no device of Windows"
)
OUTSIDE = (("quote", "price_book"), ("quote", "cost_book"), ("quote", "vendor", "logo"), ("templates",))
"""Keys that name a file which a copy does not take along."""
NEEDING = ("catalog", "extends")
"""Keys of plans that rest on files which a copy would not have."""
SCHEMA_FILE = "bomgen.schema.json"
"""Where editors find the schema of plans, if it lies beside the plan."""
MODELINE = f"# yaml-language-server: $schema={SCHEMA_FILE}\n"
"""The first line by which editors with YAML support know the schema of a file."""
_MODELINE = re.compile(r"\A# yaml-language-server:.*\n")


def is_name(name: str) -> bool:
    """Whether a plan may have this name."""
    return bool(NAME.fullmatch(name)) and len(name) <= NAME_LENGTH and name not in DEVICES


def nearest_name(name: str) -> str | None:
    """The name that a plan may have and that is closest to this one; of a path its end. None where nothing is left."""
    end = re.split(r"[/\\]", name.rstrip("/\\"))[-1]
    words = re.findall(r"[a-z0-9]+", re.sub(r"\.ya?ml$", "", end.lower()))
    found = "-".join(words)[:NAME_LENGTH].rstrip("-")
    return found if is_name(found) else None


def designs() -> dict[str, Path]:
    """The plans that the package carries, by name: those that need no other files beside them."""
    found = {}
    for path in sorted(folder("plans").glob("*.yaml")):
        data = own(path, path.name).data
        if not data.keys() & NEEDING:
            found[path.stem] = path
    return found


def nearest_designs(name: str) -> list[str]:
    """The designs whose names are closest to a mistyped one."""
    return nearest(name, designs(), count=2)


class Inquiry(NamedTuple):
    """What a customer asks for, in the words of a plan: keys and values of the cluster and of its compute fabric."""

    cluster: Mapping[str, str | int]
    fabric: Mapping[str, str | float]
    quote: Mapping[str, str]
    extends: str | None = None


def inquired(name: str, asked: Inquiry, schema_beside: bool = False) -> str:
    """The text of a plan for an inquiry. Without a word on its fabric the compute fabric is the cited default."""
    lines = [
        f"# `bomgen build {name}.yaml` writes quote and bill of materials into dist/{name}/; `bomgen schema plan` has",
        "# all keys. Lines with a # and no blank behind it are ready to use: take the # away.",
        "bomgen: 1",
        f"name: {_written(name)}",
        "#title: heading of the quote",
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
        "#site: {rack: {units: 48, power: 40 kW}, pue: 1.3}",
    ]
    if asked.quote:
        lines += ["", "quote:", *(f"  {key}: {_written(value)}" for key, value in asked.quote.items())]
    return _headed("\n".join(lines) + "\n", schema_beside)


def seller() -> str:
    """The commented file that plans of one seller extend."""
    return own_text(folder("templates") / "seller.yaml")


def _mapping(pairs: Mapping[str, str | int | float]) -> str:
    written = (f"{key}: {_written(value) if isinstance(value, str) else f'{value:g}'}" for key, value in pairs.items())
    return f"{{{', '.join(written)}}}"


def starter(name: str, schema_beside: bool = False) -> str:
    """The commented starter under a name. `schema_beside`: its first line leads editors to the schema."""
    text = own_text(folder("templates") / "starter.yaml")
    return _headed(_renamed(text, name).replace(STARTER_NAME, name), schema_beside)


def started_from(design: str, name: str, schema_beside: bool = False) -> str:
    """The text of a design under another name, without the files that it names.

    Raises KeyError for a design that there is not.
    """
    text = own_text(designs()[design])
    return _headed(_renamed(_comment_files(text), name), schema_beside)


def _headed(text: str, schema_beside: bool) -> str:
    """The text with its own first line for editors, instead of one that leads to a schema elsewhere."""
    return (MODELINE if schema_beside else "") + _MODELINE.sub("", text)


def _renamed(text: str, name: str) -> str:
    """The text of a plan with another name, its comments as they are."""
    return _replaced(text, "name", _written(name))


def _written(name: str) -> str:
    """A name as YAML writes it: in quotes where it would be read as a number or nothing."""
    try:
        plain = read(f"[{name}]", "name").data == [name]
    except PlanErrors:
        plain = False
    return name if plain else json.dumps(name, ensure_ascii=False)


def _replaced(text: str, key: str, value: str) -> str:
    """The text of a mapping with another plain value at a key of its top."""
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


def _comment_files(text: str) -> str:
    """The text of a plan with each key that names a file turned into a comment, which says so."""
    source = read(text, "plan")
    lines = text.splitlines(keepends=True)
    for path in OUTSIDE:
        if path in source.keys:
            _comment_out(lines, source, path)
    return "".join(lines)


def _comment_out(lines: list[str], source: Source, path: tuple[str, ...]) -> None:
    mark = source.keys[path]
    line = lines[mark.line - 1]
    key, given = path[-1], line[mark.column - 1 :].partition(":")[2].strip()
    text = f"#{key}: FILE    # one of your own, relative to this plan; the design had {given}\n"
    lines[mark.line - 1] = line[: mark.column - 1] + text
