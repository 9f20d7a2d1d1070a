"""The page of the errors: each rule, what it says in how many ways, and a plan that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from text import code, html

CASES = Path(__file__).parents[2] / "tests" / "errors" / "cases"
ERROR = re.compile(r"^[^ ].*?: error: (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]$", re.MULTILINE)
LONGEST = 400
"""Characters of a transcript that a page still shows."""


def cases() -> dict[str, dict[str, Any]]:
    """The wrong plans of the tests by name, each with its text and what is said of it."""
    read = (yaml.safe_load(file.read_bytes()) for file in CASES.glob("*.yaml"))
    return {name: case for room in read for name, case in room.items()}


def rules() -> dict[str, list[tuple[str, str]]]:
    """The messages of each rule, each with the name of its plan."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, case in sorted(cases().items()):
        for match in ERROR.finditer(case["says"]):
            found.setdefault(match["rule"], []).append((match["message"], name))
    return dict(sorted(found.items()))


def pages() -> Iterator[tuple[str, str]]:
    """The page, by its path."""
    found, plans = rules(), cases()
    count = sum(map(len, found.values()))
    parts = [
        f"# Errors\n\nWhat bomgen says of a plan that is wrong, by the rule in brackets at the end of the message: "
        f"{len(found)} rules in {count} examples, which are the transcripts of the tests. A message names the file, "
        "line and column, what is wrong and, behind a semicolon, what would be right.\n"
    ]
    for rule, said in found.items():
        parts.append(f"## {rule} {{#{rule}}}\n")
        shown = next((plan for _, plan in said if _is_short(plans[plan])), None)
        if shown:
            parts.append(code(plans[shown]["plan"], "yaml", f"{shown}.yaml"))
            parts.append(code(plans[shown]["says"], "text"))
        messages = dict.fromkeys(message for message, plan in said if plan != shown)
        if messages:
            parts.append("<ul>\n" + "".join(f"<li>{html(each)}</li>\n" for each in messages) + "</ul>\n")
    yield "reference/errors.md", "\n".join(parts)


def _is_short(case: dict[str, Any]) -> bool:
    said, text = case["says"], case["plan"]
    if isinstance(text, bytes):
        return False
    return len(said) <= LONGEST and len(text) <= LONGEST and all(line.isprintable() for line in text.splitlines())
