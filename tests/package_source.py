"""The source of the package, which every test that looks into it shares."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "bomgen"


@cache
def _parse(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


class _Modules(Mapping[Path, ast.Module]):
    """Modules by their files, each of which is parsed when a test first looks at it, not while tests are collected."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __getitem__(self, path: Path) -> ast.Module:
        return _parse(path)

    def __iter__(self) -> Iterator[Path]:
        return iter(self._paths)

    def __len__(self) -> int:
        return len(self._paths)


TREES: Mapping[Path, ast.Module] = _Modules(sorted(PACKAGE.rglob("*.py")))
"""The modules of the package by their files."""
