"""Every mutant of the pure rooms: cosmic-ray's operators, one change of the source each."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

ROOMS = ("fabric", "sizing", "optics/counting", "pricing")
"""Rooms that compute: those whose wrong number nobody would see."""
LEFT_OUT = (
    *("fabric/links/", "pricing/alternatives.py", "pricing/bill.py", "pricing/bill_line.py"),
    *("pricing/price_book.py", "pricing/costs.py", "pricing/quote.py"),
)
"""Modules of these rooms that have other judges."""
# One replacement of each kind. The rest of cosmic-ray's would change the same place once more (`*` to each of eleven
# operators), or break an import at once (a decorator taken away), which proves nothing about the tests.
OPERATORS = (
    "NumberReplacer",
    "AddNot",
    "ReplaceAndWithOr",
    "ReplaceOrWithAnd",
    "ReplaceTrueWithFalse",
    "ReplaceFalseWithTrue",
    "ReplaceBinaryOperator_Add_Sub",
    "ReplaceBinaryOperator_Sub_Add",
    "ReplaceBinaryOperator_Mul_Div",
    "ReplaceBinaryOperator_Div_Mul",
    "ReplaceBinaryOperator_FloorDiv_Mul",
    "ReplaceBinaryOperator_Mod_FloorDiv",
    "ReplaceBinaryOperator_Pow_Mul",
    "ReplaceUnaryOperator_Delete_USub",
    "ReplaceUnaryOperator_Delete_Not",
    "ReplaceComparisonOperator_Eq_NotEq",
    "ReplaceComparisonOperator_NotEq_Eq",
    "ReplaceComparisonOperator_Lt_LtE",
    "ReplaceComparisonOperator_LtE_Lt",
    "ReplaceComparisonOperator_Gt_GtE",
    "ReplaceComparisonOperator_GtE_Gt",
    "ReplaceComparisonOperator_Is_IsNot",
    "ReplaceComparisonOperator_IsNot_Is",
    "ReplaceContinueWithBreak",
    "ReplaceBreakWithContinue",
    "ExceptionReplacer",
    "ZeroIterationForLoop",
)


class Mutant(NamedTuple):
    """A module with one change: the operator, the first line that differs, and that line before and after."""

    path: str
    operator: str
    occurrence: int
    line: int
    before: str
    after: str
    code: str

    @property
    def name(self) -> str:
        """What the mutant is called as long as the line is written as it is, wherever it stands in its module."""
        return f"{self.path}: {self.before} -> {self.after}"


def modules(root: Path) -> list[str]:
    """The paths of the modules of the pure rooms below a checkout."""
    package = root / "bomgen"
    paths = (path for room in ROOMS for path in (package / room).rglob("*.py") if path.name != "__init__.py")
    return sorted(
        str(path.relative_to(root)) for path in paths if not path.relative_to(package).as_posix().startswith(LEFT_OUT)
    )


def mutants(root: Path, path: str) -> Iterator[Mutant]:
    """The mutants of a module that are Python, and another program than the module."""
    lines = (root / path).read_text(encoding="utf-8").splitlines(keepends=True)
    starts = [_start(statement) for statement in ast.parse("".join(lines)).body]
    for start, end in pairwise([*starts, len(lines)]):
        # A statement at a time: the operators parse what they are given anew for each mutant.
        for operator, occurrence, changed in _changes("".join(lines[start:end])):
            after = changed.splitlines(keepends=True)
            at = next(at for at, line in enumerate(after) if line != lines[start + at])
            code = "".join([*lines[:start], *after, *lines[end:]])
            before = lines[start + at].strip()
            yield Mutant(path, operator, occurrence, start + at + 1, before, after[at].strip(), code)


def _start(statement: ast.stmt) -> int:
    decorators = getattr(statement, "decorator_list", [])
    return min(node.lineno for node in [statement, *decorators]) - 1


def _changes(code: str) -> Iterator[tuple[str, int, str]]:
    whole = _bare(code)
    nodes = list(ast_nodes(get_ast(code)))
    for name in OPERATORS:
        operator = get_operator(f"core/{name}")()
        places = sum(1 for node in nodes for _ in operator.mutation_positions(node))
        for occurrence in range(places):
            changed = mutate_code(code, operator, occurrence)
            try:
                if changed is not None and _bare(changed) != whole:
                    yield name, occurrence, changed
            except SyntaxError:
                continue  # the star of keyword-only parameters is no product


class _Unannotated(ast.NodeTransformer):
    """Annotations are never evaluated here, so that a change in one is no mutant."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        node.annotation = None
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.annotation = ast.Constant("")
        return self.generic_visit(node)


def _bare(code: str) -> str:
    return ast.dump(_Unannotated().visit(ast.parse(code)))
