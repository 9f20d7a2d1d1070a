"""What functions of plain numbers give, call by call: `python tests/golden/calls.py` writes the values anew.

A file of `calls/` has the calls of one module of the pure rooms that told its mutants from the program, found by
`python tests/tools/mutation/telling.py`: at the bounds where a number one more or less makes a difference, which plans
seldom meet. As with outcomes, a value proves that nothing changed, not that it is right.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from importlib import import_module
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

from bomgen.core.provenance import Formula

HERE = Path(__file__).parent / "calls"
GIVES, RAISES = "  ->  ", "raises "
MOST_ITEMS = 200
"""Items of what is walked through that are looked at."""


def module_of(file: Path) -> ModuleType:
    """The module whose calls a file has."""
    return import_module(f"bomgen.{file.stem}")


def names(module: ModuleType) -> dict[str, Any]:
    """What calls of a module may name: all that it has, formulas as functions of plain numbers."""
    own = {name: each.function if isinstance(each, Formula) else each for name, each in vars(module).items()}
    return {**own, "Fraction": Fraction}


def given(call: str, known: dict[str, Any]) -> str:
    """What a call gives, as text; what it raises, where it does."""
    try:
        value = eval(call, known)  # noqa: S307 - calls of this checkout
        value = list(islice(value, MOST_ITEMS)) if isinstance(value, Iterator) else value
        return repr(value)
    except Exception as error:
        return f"{RAISES}{type(error).__name__}"


def lines(file: Path) -> list[tuple[str, str]]:
    """The calls of a file with what they give."""
    return [
        (call, value) for call, _, value in (line.partition(GIVES) for line in file.read_text("utf-8").splitlines())
    ]


def write(file: Path, calls: list[str], known: dict[str, Any]) -> None:
    """Write calls with what they give now."""
    file.write_text("".join(f"{call}{GIVES}{given(call, known)}\n" for call in calls), encoding="utf-8")


def main() -> None:
    """Write what every call gives."""
    for file in HERE.glob("*.txt"):
        write(file, [call for call, _ in lines(file)], names(module_of(file)))


if __name__ == "__main__":
    main()
