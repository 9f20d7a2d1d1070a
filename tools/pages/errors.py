"""The page of the errors, in English and Chinese: each rule, what it says, and a plan that it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from text import code, html

CASES = Path(__file__).parents[2] / "tests" / "errors" / "cases"
CHINESE = Path(__file__).with_name("errors.zh.yaml")
LEADS = (
    "# Errors\n\nWhat bomgen says of a plan that is wrong, by the rule in brackets at the end of the message: {rules} "
    "rules in {count} examples, which are the transcripts of the tests. A message names the file, line and column, "
    "what is wrong and, behind a semicolon, what would be right.\n",
    "# 错误信息\n\n方案有误时，bomgen 在提示末尾的方括号中给出规则名。共 {rules} 条规则、{count} 个例子，"
    "均取自测试记录。提示给出文件、行和列、错在哪里，分号之后是改正方法；命令行的提示为英文，这里用中文说明每条规则。\n",
)
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


def meanings() -> dict[str, str]:
    """What each rule means, in Chinese."""
    return dict(yaml.safe_load(CHINESE.read_bytes()))


def pages() -> Iterator[tuple[str, str]]:
    """The page in each language, by its path. The messages are the program's: English."""
    found, plans, means = rules(), cases(), meanings()
    english, chinese = (lead.format(rules=len(found), count=sum(map(len, found.values()))) for lead in LEADS)
    parts = [english]
    translated = [chinese]
    for rule, said in found.items():
        section = _section(said, plans)
        parts += [f"## {rule} {{#{rule}}}\n", *section]
        translated += [f"## {rule} {{#{rule}}}\n", f"{means.get(rule, '')}\n", *section]
    yield "reference/errors.md", "\n".join(parts)
    yield "zh/errors.md", "\n".join(translated)


def _section(said: Sequence[tuple[str, str]], plans: Mapping[str, dict[str, Any]]) -> list[str]:
    """Return a short plan that a rule refuses with its transcript, and the rule's other messages."""
    parts = []
    shown = next((plan for _, plan in said if _is_short(plans[plan])), None)
    if shown:
        parts += [code(plans[shown]["plan"], "yaml", f"{shown}.yaml"), code(plans[shown]["says"], "text")]
    messages = dict.fromkeys(message for message, plan in said if plan != shown)
    if messages:
        parts.append("<ul>\n" + "".join(f"<li>{html(message)}</li>\n" for message in messages) + "</ul>\n")
    return parts


def _is_short(case: dict[str, Any]) -> bool:
    said, text = case["says"], case["plan"]
    if isinstance(text, bytes):
        return False
    return len(said) <= LONGEST and len(text) <= LONGEST and all(line.isprintable() for line in text.splitlines())
