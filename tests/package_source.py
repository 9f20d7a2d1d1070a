"""The source of the package, which every test that looks into it shares: each module is parsed once a process."""

from __future__ import annotations

import ast
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "bomgen"
TREES = {path: ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}
"""The modules of the package by their files."""
