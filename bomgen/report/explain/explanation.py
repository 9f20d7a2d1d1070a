"""How numbers were worked out and why things were chosen, as trees of plain data, for what a reader asks about.

A path is that of a number of bom.json, the start of one, the id of a line of the bill or its start, or a total.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from bomgen.core.diagnostics import nearest
from bomgen.core.language import Language
from bomgen.report.explain.money import TOTALS, Money
from bomgen.report.explain.tree import Node, Trees, is_below, numbers_below
from bomgen.report.metrics import Paths, dotted
from bomgen.report.reasons.types import Reason
from bomgen.report.result import Report, numbers_of

__all__ = ["Explanation", "Node", "NotKnown", "explained", "names"]

SUGGESTED = 3
"""Paths that are offered in place of one that is not there."""


class NotKnown(Exception):
    """The result has nothing at a path; the message names what is near."""


class Explanation(NamedTuple):
    """What was asked about: numbers, amounts and lines by path or id, and reasons."""

    trees: dict[str, Node]
    reasons: tuple[Reason, ...]


def explained(
    report: Report,
    path: str | None,
    words: Language,
    depth: int | None = None,
    why: Callable[[], list[Reason]] = list,
    trees: bool = True,
) -> Explanation:
    """Everything at a path and below it; without one every number.

    `why` gives the reasons, `trees` asks for derivations, `depth` for no more than so many levels of them.

    Raises NotKnown when there is nothing at the path.
    """
    making = Trees(words.shown, depth, report.plan.quote.currency)
    money = Money(report, making, words)
    found: dict[str, Node] = {}
    figures = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    if path and "#" in path:
        figures = Paths(numbers_of(report)).figures
    if trees:
        for name, figure in numbers_below(path, figures).items():
            found[name] = making.tree(name, figure)
        for line in money.lines_below(path) if path else ():
            found[line.line.id] = money.line(line)
        if path and is_below(path, TOTALS):
            found |= dict(money.totals(path))
    reasons = tuple(why())
    known = [*figures, *_bill_paths(report)]
    chosen = (reason.subject for reason in reasons)
    if path is not None and not any(is_below(name, path) for name in (*known, *chosen)):
        close = nearest(path, known, count=SUGGESTED)
        near = f"near: {', '.join(close)}" if close else f"there are {', '.join(_sections(figures))} and ids of lines"
        raise NotKnown(f"the result has no number '{path}'; {near}")
    return Explanation(found, reasons)


def names(report: Report) -> list[str]:
    """All that can be explained of a result: the paths of its numbers, the ids of the lines of its bill, its totals."""
    return [*map(dotted, numbers_of(report)), *_bill_paths(report)]


def _sections(paths: Iterable[str]) -> list[str]:
    return list(dict.fromkeys([*(path.partition(".")[0] for path in paths), TOTALS]))


def _bill_paths(report: Report) -> list[str]:
    return [*(line.line.id for line in report.quote.all_lines), *_TOTALS]


_TOTALS = [f"{TOTALS}.{name}" for name in ("list", "discount", "tax", "amount")]
