"""Tables that fit the terminal: long cells wrap inside their column, and columns without room go to a table below.

Only a terminal gets this. A pipe or a file gets every row on one line, so that programs can read it.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence

import click

from bomgen.cli.messages import UNSHOWN, plain
from bomgen.core.document import TextTable

GAP = 2
"""Characters between columns."""
LEAST_WIDTH = 24
"""A longer text may be wrapped to so few characters before a column goes to a table below."""
LEAST_TEXT = 20
"""A line is wrapped below its text only where that has as much room."""
LABEL = re.compile(r" *(?:- |\S(?:.*?\S)?  +(?=\S))")
"""The start of a line, up to the text that is wrapped: a bullet, or a label and the gap behind it."""
DRAWING = re.compile(r".*\S  +(?=\S)")
"""The start of a line that draws something and then says what it is."""
RESET = "\x1b[0m"
BLANKS = re.compile(r"(?: |\x1b\[[0-9;]*m)+$")
"""The end of a line that shows nothing."""


def terminal_width() -> int | None:
    """The characters of a line of the terminal that standard output is; None where it is no terminal."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def print_table(table: TextTable, width: int) -> None:
    """Print a table in lines of at most `width` characters."""
    rows = [[plain(cell, UNSHOWN) for cell in row] for row in table.rows]
    for text in _fitted(table._replace(rows=rows), width):
        click.echo(text)


def print_lines(
    lines: Iterable[str], width: int | None, bold: bool | None = None, start: re.Pattern[str] = LABEL
) -> None:
    """Print lines; with a width, a longer line goes on below the text behind its start."""
    for line in lines:
        line = plain(line, UNSHOWN)
        for part in [line] if width is None else _wrapped(line, width, start):
            click.echo(click.style(part, bold=bold) if part and bold else part)


def _wrapped(line: str, width: int, start: re.Pattern[str]) -> list[str]:
    from rich.cells import cell_len

    if cell_len(line) <= width:
        return [line]
    found = start.match(line)
    label = found[0] if found else ""
    hang = cell_len(label)
    if hang > width - LEAST_TEXT:
        label, hang = "", 0
    first, *others = _folded(line[len(label) :], width - hang)
    return [label + first, *(" " * hang + part for part in others)]


def _folded(text: str, width: int) -> list[str]:
    """A text in lines of at most `width` characters, broken between words where that is possible."""
    from rich.console import Console
    from rich.text import Text

    return [part.plain.rstrip() for part in Text(text).wrap(Console(), width)]


def _fitted(table: TextTable, width: int) -> Iterator[str]:
    """The lines of a table: of one, or of several with some of the columns each."""
    from rich.cells import cell_len

    room = width - len(table.indent)
    natural, least = list[int](), list[int]()
    for at, column in enumerate(zip(*table.rows, strict=True)):
        natural.append(max(map(cell_len, column)))
        word = max((cell_len(word) for cell in column for word in cell.split()), default=0)
        narrow = max(LEAST_WIDTH, min(word, room // 2))
        number = max(cell_len(line) for cell in column for line in _above_its_range(cell).split("\n"))
        least.append(number if at in table.right else min(natural[at], narrow))
    for number, columns in enumerate(_shared_out(least, table.keys, room)):
        widths = _widths([least[at] for at in columns], [natural[at] for at in columns], room)
        yield from [""] if number else []
        yield from _drawn(table, columns, widths)


def _above_its_range(cell: str) -> str:
    """Return a number, with the range of an estimate on a line of its own."""
    return cell.replace(" (", "\n(")


def _shared_out(least: Sequence[int], keys: int, room: int) -> list[list[int]]:
    """The columns of each table: those that name a row, and as many others as there is room for, one at least."""
    names = list(range(keys))
    found = [names[:]]
    for at in range(keys, len(least)):
        if len(found[-1]) > keys and sum(least[other] + GAP for other in (*found[-1], at)) - GAP > room:
            found.append(names[:])
        found[-1].append(at)
    return found


def _widths(least: Sequence[int], natural: Sequence[int], room: int) -> list[int]:
    """The width of each column: the least, and a share of what is left for those that would take more."""
    widths = list(least)
    left = room - sum(least) - GAP * (len(least) - 1)
    wanting = sorted((each for each in range(len(least)) if natural[each] > least[each]), key=natural.__getitem__)
    for number, at in enumerate(wanting):
        more = max(min(natural[at] - least[at], left // (len(wanting) - number)), 0)
        widths[at] += more
        left -= more
    return widths


def _drawn(table: TextTable, columns: Sequence[int], widths: Sequence[int]) -> Iterator[str]:
    """Lines with the colours of their rows; `click.echo` takes these away where they are not wanted."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    total = sum(widths) + GAP * len(widths)
    drawn = Table(box=None, show_header=False, padding=(0, GAP, 0, 0), pad_edge=False)
    for at, width in zip(columns, widths, strict=True):
        drawn.add_column(width=width, justify="right" if at in table.right else "left", overflow="fold")
    for number, row in enumerate(table.rows):
        texts = [
            _above_its_range(row[at]) if at in table.right and cell_len(row[at]) > width else row[at]
            for at, width in zip(columns, widths, strict=True)
        ]
        cells = (Padding(Text(text.lstrip()), (0, 0, 0, len(text) - len(text.lstrip()))) for text in texts)
        drawn.add_row(*cells, style=table.styles[number] if table.styles else None)
    console = Console(width=total, color_system="standard", force_terminal=True, no_color=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(drawn)
    for line in capture.get().splitlines():
        yield table.indent + BLANKS.sub(RESET if RESET in line else "", line)
