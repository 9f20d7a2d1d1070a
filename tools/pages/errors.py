"""The page of the errors: each rule, what it says in how many ways, and a plan that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from text import code, html

TRANSCRIPTS = Path(__file__).parents[2] / "tests" / "errors"
ERROR = re.compile(r"^[^ ].*?: error: (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]$", re.MULTILINE)
LONGEST = 400
"""Characters of a transcript that a page still shows."""


def rules() -> dict[str, list[tuple[str, Path]]]:
    """The messages of each rule, each with the plan of its transcript."""
    found: dict[str, list[tuple[str, Path]]] = {}
    for path in sorted(TRANSCRIPTS.glob("*.txt")):
        for match in ERROR.finditer(path.read_text(encoding="utf-8")):
            found.setdefault(match["rule"], []).append((match["message"], path.with_suffix(".yaml")))
    return dict(sorted(found.items()))


def pages() -> Iterator[tuple[str, str]]:
    """The page, by its path."""
    found = rules()
    count = sum(map(len, found.values()))
    parts = [
        f"# Errors\n\nWhat bomgen says of a plan that is wrong, by the rule in brackets at the end of the message: "
        f"{len(found)} rules in {count} examples, which are the transcripts of the tests. A message names the file, "
        "line and column, what is wrong and, behind a semicolon, what would be right.\n"
    ]
    for rule, said in found.items():
        parts.append(f"## {rule} {{#{rule}}}\n")
        shown = next((plan for _, plan in said if _is_short(plan)), None)
        if shown:
            parts.append(code(shown.read_text(encoding="utf-8"), "yaml", shown.name))
            parts.append(code(shown.with_suffix(".txt").read_text(encoding="utf-8"), "text"))
        messages = dict.fromkeys(message for message, plan in said if plan != shown)
        if messages:
            parts.append("<ul>\n" + "".join(f"<li>{html(each)}</li>\n" for each in messages) + "</ul>\n")
    yield "reference/errors.md", "\n".join(parts)


def _is_short(plan: Path) -> bool:
    said = plan.with_suffix(".txt").read_text(encoding="utf-8")
    try:
        text = plan.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return False
    return len(said) <= LONGEST and len(text) <= LONGEST and all(line.isprintable() for line in text.splitlines())
