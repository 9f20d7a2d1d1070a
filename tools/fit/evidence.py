"""Write what the fits found: the tables that a reader needs into docs/accuracy.md, every table into docs/evidence/."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Iterable
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "accuracy.md"
RULE = re.compile(r"\|[-|]+\|")


def write(name: str, lines: Iterable[str], shown: Collection[str]) -> None:
    """Write the sections shown of a report between the marks of its name in the page, and all its tables as CSV."""
    intro, *sections = ("\n" + "\n".join(lines)).split("\n## ")
    rows = [row for section in sections for row in _table(*section.split("\n", 1))]
    with (DOCS / "evidence" / f"{name}-accuracy.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)
    chosen = [f"### {section.strip()}" for section in sections if section.split("\n", 1)[0] in shown]
    part = "\n\n".join((intro.strip(), *chosen))
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->"
    before, _, rest = PAGE.read_text("utf-8").partition(begin)
    PAGE.write_text(f"{before}{begin}\n{part}\n\n{end}{rest.partition(end)[2]}", "utf-8")


def _table(title: str, text: str) -> list[list[str]]:
    """Return the rows of the table of a section, its title in front of each."""
    rows = [line for line in text.split("\n") if line.startswith("|") and not RULE.fullmatch(line)]
    return [[title, *(cell.strip() for cell in row.strip("|").split("|"))] for row in rows]
