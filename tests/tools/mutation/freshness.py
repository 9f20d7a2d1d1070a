"""Whether what was measured of the tests still holds: lines and tests have other places after an edit."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

TIMES, OF = "times.xml", "times.sha256"
"""What a run of the tests leaves behind, and the digest of the sources that it ran on."""
SOURCES = ("bomgen", "tests")
APART = ("tests/tools/mutation",)
"""What neither is tested nor tests a room."""


def measured_anew(root: Path, build: Path, run: Callable[[Path, Path], int]) -> bool:
    """Whether what the tests reach is known of the sources as they are: from before, or from a run of them now.

    `run` gives pytest's exit code; tests that failed leave nothing behind that the next call would take for measured.
    """
    now, of = digest(root), build / OF
    if (build / TIMES).exists() and of.exists() and of.read_text("utf-8") == now:
        return True
    of.unlink(missing_ok=True)
    if run(root, build):
        (build / TIMES).unlink(missing_ok=True)
        return False
    of.write_text(now, encoding="utf-8")
    return True


def digest(root: Path) -> str:
    """The SHA-256 of all sources of the rooms and their tests, with their paths."""
    found = hashlib.sha256()
    for source in SOURCES:
        for path in sorted((root / source).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.is_file() and "__pycache__" not in path.parts and not name.startswith(APART):
                found.update(f"{name}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return found.hexdigest()
