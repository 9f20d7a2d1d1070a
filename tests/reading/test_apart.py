"""How a process that reads a file apart may end, and what is said of the file then."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from bomgen.core import jobs
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.jobs import start_python
from bomgen.reading import tables

if TYPE_CHECKING:
    from bomgen.core.jobs import Child

OVER = r"a\.pdf:1:1: error: reading the file takes more than 10 s or 768 MiB of memory; .* \[read-limit\]"
FAILED = r"a\.pdf:1:1: error: the program that reads the file failed: its process ended with {}; .* \[read-failure\]"


def ends(monkeypatch: pytest.MonkeyPatch, module: str, function: str) -> None:
    """Read files with another function, which takes no file."""

    def start(_module: str, _function: str, _arguments: Any, **given: Any) -> Child:
        return start_python(module, function, **given)

    monkeypatch.setattr(jobs, "start_python", start)


@pytest.mark.parametrize(
    ("module", "function", "said"),
    [
        ("bomgen.reading.no_such", "gone", FAILED.format("exit code 1")),
        pytest.param(
            *("faulthandler", "_sigsegv", FAILED.format("SIGSEGV")),
            marks=pytest.mark.skipif(os.name == "nt", reason="Windows ends processes with other codes"),
        ),
        pytest.param(
            *("os", "abort", OVER),
            marks=pytest.mark.skipif(os.name == "nt", reason="Windows ends processes with other codes"),
        ),
    ],
)
def test_a_reader_that_fails_is_told_from_one_over_its_limits(
    module: str, function: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A missing module and a crash are no limits of the file; a library that aborts has no memory left."""
    ends(monkeypatch, module, function)
    with pytest.raises(PlanErrors, match=said):
        tables.read_apart("pdf", b"", "a.pdf")


@pytest.mark.parametrize(("module", "function"), [("faulthandler", "_sigsegv"), ("bomgen.reading.no_such", "gone")])
def test_a_reader_that_fails_with_its_memory_used_up_is_over_its_limits(
    module: str, function: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no page is left, the system ends a process with SIGSEGV, or Python cannot report its MemoryError."""
    ends(monkeypatch, module, function)
    monkeypatch.setattr(jobs, "wait_for", lambda child: (child.wait(), tables.LIMITS.memory_bytes))
    with pytest.raises(PlanErrors, match=OVER):
        tables.read_apart("pdf", b"", "a.pdf")


def test_a_reader_that_waits_is_over_its_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock ends what takes no processor."""
    ends(monkeypatch, "signal", "pause")
    monkeypatch.setattr(tables, "LIMITS", tables.LIMITS._replace(wall_seconds=1))
    with pytest.raises(PlanErrors, match=OVER):
        tables.read_apart("pdf", b"", "a.pdf")
