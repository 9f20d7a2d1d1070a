"""What public functions of plain numbers give, call by call: `python tests/calls.py` writes the values anew.

`tests/ROOM/calls/` has a table for each module of a room: calls that told its mutants from the program, found by
`python tests/tools/mutation/telling.py`. They are at the bounds where a number one more or less makes a difference,
which plans seldom meet. A value proves that nothing changed, not that it is right.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from bomgen.core.provenance import Formula

HERE = Path(__file__).parent
GIVES, RAISES = "  ->  ", "raises "
MOST_ITEMS = 200
"""Items of an iterator that are looked at."""


def table(module: str) -> Path:
    """The table of a module, which is named without the package: `fabric.clos.search`."""
    return HERE / module.partition(".")[0] / "calls" / f"{module}.txt"


def tables() -> list[Path]:
    """The tables of all rooms."""
    return sorted(HERE.glob("*/calls/*.txt"))


def cases() -> list[tuple[str, str, str]]:
    """Module, call and value of every call."""
    return [(file.stem, call, value) for file in tables() for call, value in lines(file)]


def module_of(file: Path) -> ModuleType:
    """The module of a table."""
    return import_module(f"bomgen.{file.stem}")


def names(module: ModuleType) -> dict[str, Any]:
    """What calls of a module may name: all that it has, formulas as functions of plain numbers."""
    own = {name: each.function if isinstance(each, Formula) else each for name, each in vars(module).items()}
    return {**own, "Fraction": Fraction}


def private_names(call: str) -> set[str]:
    """The names in a call that begin with an underscore."""
    nodes = list(ast.walk(ast.parse(call, mode="eval")))
    found = {node.id for node in nodes if isinstance(node, ast.Name)}
    found |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    return {name for name in found if name.startswith("_")}


def given(call: str, known: dict[str, Any]) -> str:
    """What a call gives, as text; what it raises, where it does."""
    try:
        value = eval(call, known)  # noqa: S307 - calls of this checkout
        value = list(islice(value, MOST_ITEMS)) if isinstance(value, Iterator) else value
        return repr(value)
    except Exception as error:
        return f"{RAISES}{type(error).__name__}"


def lines(file: Path) -> list[tuple[str, str]]:
    """The calls of a table with what they give."""
    return [
        (call, value) for call, _, value in (line.partition(GIVES) for line in file.read_text("utf-8").splitlines())
    ]


def write(file: Path, calls: list[str], known: dict[str, Any]) -> None:
    """Write calls with what they give now."""
    file.parent.mkdir(exist_ok=True)
    file.write_text("".join(f"{call}{GIVES}{given(call, known)}\n" for call in calls), encoding="utf-8")


def main() -> None:
    """Write what every call gives."""
    for file in tables():
        write(file, [call for call, _ in lines(file)], names(module_of(file)))


if __name__ == "__main__":
    main()
