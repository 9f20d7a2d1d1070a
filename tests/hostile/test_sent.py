"""Files that somebody sent to take memory or time: each command that reads such files ends within its bounds.

`sent.said` has what is said first of each: `PYTHONPATH=tests/tools python tests/hostile/test_sent.py [NAME ...]`
writes it anew. A user runs some, continuous integration each with one command, `make deep` each with every command.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from cases import BASE, HERE
from depth import DEEP, few
from inputs import MOST, SENT
from processor import Used, run_bomgen

SAID_FILE = HERE / "sent.said"
SAID = dict(line.split("\t") for line in SAID_FILE.read_text(encoding="utf-8").splitlines())
USERS = ("blanks", "strings-said-to-be-many", "title-of-dates", "pdf-deflated-twice", "tables-in-a-circle")
RARE = {name for name in SENT if name.startswith("pdf-")} - {"pdf-deflated-twice", "pdf-of-pages-in-a-circle"} | {
    *("unknown-parts", "parts-almost-known", "many-kinds", "hundreds-of-networks"),
    *("rows-of-commas", "short-lines", "line-ends-of-apples", "short-cells", "quotes", "blanks-in-many-cells"),
    *("package-packed-otherwise", "inline-texts", "attributes", "nested-elements", "tables-of-nothing"),
    *("table-said-to-be-long", "small-table-said-to-be-rather-long", "more-tables-said-to-be-many"),
    *("size-that-is-a-lie-of-a-picture", "size-that-is-a-lie-of-cells", "size-beyond-excel-97", "size-of-excel-95"),
    *("many-sheets-of-excel-97", "text-that-many-cells-of-excel-97-show", "cells-of-a-wide-sheet-of-excel-97"),
    *("cells-of-a-wide-sheet", "cells-of-a-wide-ods", "commas", "merged-a-column-often", "text-that-many-cells-show"),
    *("size-of-excel-97", "known-parts", "network-of-thousands-of-lines", "thousands-of-networks"),
    *("title-of-blanks", "title-of-currencies", "title-of-months", "title-of-percents", "titles-of-dates"),
    *("cell-of-groups", "cell-of-blanks-and-digits", "part-of-hyphens", "description-of-units", "quoted-line-ends"),
    *("strings-said-in-other-quotes", "strings-said-to-be-some", "strings-said-with-a-prefix", "blanks-often"),
    *("strings-said-behind-a-comment", "dimension-beyond-everything", "row-beyond-everything", "blanks-in-a-span"),
    *("columns-hidden-beyond-everything", "blanks-outside-a-paragraph", "rows-repeated-before-others"),
    *("cells-without-a-kind-repeated", "texts-without-a-kind-repeated", "rows-of-cells-without-a-kind"),
    *("formulas-repeated", "text-of-an-attribute-repeated", "columns-repeated", "columns-hidden", "rows-hidden"),
}
EVERY_DAY = {*USERS, "two-lines-of-many-pieces", *few((name for name in SENT if name not in RARE), 6)}
"""What only `make deep` sends: files that take as much of the time that a command may as others of their kind do."""
COMMANDS = {
    "prices": ("prices", "{file}"),
    "xray": ("xray", "{file}"),
    "check": ("check", "priced.yaml"),
    "build": ("build", "priced.yaml", "-o", "out"),
    "apply": ("apply", "{file}", "plain.yaml"),
    "diff": ("diff", "{file}", "plain.yaml"),
    "compare": ("compare", "plain.yaml", "{file}"),
}
BILLS = (
    *("unknown-parts", "known-parts", "parts-almost-known", "many-kinds"),
    *("network-of-thousands-of-lines", "hundreds-of-networks", "thousands-of-networks", "two-lines-of-many-pieces"),
)
"""What is a bill first; the command that the words are those of is `xray`, as for PDFs, and `prices` for others."""
SHOWN = 200
"""Characters of a message that are kept."""


def first_command(name: str) -> str:
    """The command that a file is tried with every day."""
    return "xray" if SENT[name].suffix == "pdf" or name in BILLS else "prices"


def tried(name: str, command: str, folder: Path) -> Used:
    """How a command with a file ended, which keeps the bounds."""
    content, file = SENT[name].make(), f"list.{SENT[name].suffix}"
    assert len(content) <= MOST
    (folder / file).write_bytes(content)
    (folder / "plain.yaml").write_text(BASE, encoding="utf-8")
    priced = f"{BASE}quote: {{currency: USD, price_book: {file}}}\n"
    (folder / "priced.yaml").write_text(priced, encoding="utf-8")
    return run_bomgen([word.format(file=file) for word in COMMANDS[command]], folder)


def told(used: Used) -> str:
    """The exit code of a command, and the first line that it said on standard error."""
    return f"{used.code} {(used.said.splitlines() or [''])[0][:SHOWN]}".rstrip()


@pytest.mark.parametrize(
    ("name", "command"),
    [
        pytest.param(
            name, command, marks=[] if name in USERS and command == first_command(name) else [pytest.mark.long]
        )
        for name in SENT
        for command in COMMANDS
        if DEEP or (command == first_command(name) and name in EVERY_DAY)
    ],
)
def test_a_command_keeps_its_bounds(name: str, command: str, tmp_path: Path) -> None:
    """It ends by itself, in time and room, with what is said of the file and no flood of messages."""
    used = tried(name, command, tmp_path)
    assert used.code in (0, 1), used.said[-2000:]
    assert len(used.said) < MOST // 50
    if SENT[name].suffix == "pdf":  # whether time or the library ends first is the machine's
        assert used.code == 0 or used.said.rstrip().endswith(("[pdf]", "[read-limit]", "[table]", "[no-bill]")), used
    elif command == first_command(name):
        assert told(used) == SAID[name]


def main() -> None:
    """Write what is said of each file anew, or of those that are named."""
    said = {name: SAID.get(name, "") for name in SENT}
    for name in sys.argv[1:] or SENT:
        with TemporaryDirectory() as folder:
            said[name] = told(tried(name, first_command(name), Path(folder)))
    SAID_FILE.write_text("".join(f"{name}\t{text}\n" for name, text in said.items()), encoding="utf-8")


if __name__ == "__main__":
    main()
