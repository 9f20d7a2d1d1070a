"""What a program is said to use is its own."""

from __future__ import annotations

import sys
from pathlib import Path

from processor import PATIENCE, run

LARGE = 300 << 20


def test_the_memory_of_the_tests_is_not_counted(tmp_path: Path) -> None:
    """A process begins with the peak of the one that starts it, which must not be that of the tests."""
    held = b"1" * LARGE
    used = run([sys.executable, "-c", "raise SystemExit(3)"], tmp_path, PATIENCE)
    assert (used.code, used.bytes < len(held) // 2) == (3, True), used
