"""Standard streams that are full, closed or left by their reader: the exit code says so, and results stay whole."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
from children import NEW, Outcome, outcome, state
from depth import DEEP

PLANS = Path(__file__).parents[2] / "plans"
PRINTING = {
    "wiring": ("wiring", "plan.yaml"),
    "parquet": ("wiring", "plan.yaml", "-f", "parquet"),
    "build": ("build", "plan.yaml", "-f", "html", "-o", "-"),
    "built": ("build", "plan.yaml", "-f", "json"),
    "check": ("check", "plan.yaml"),
    "checked": ("check", "plan.yaml", "--format", "json"),
    "explain": ("explain", "plan.yaml"),
    "compare": ("compare", "plan.yaml", "plan.yaml"),
    "diff": ("diff", "plan.yaml", "plan.yaml"),
    "prices": ("prices", "--for", "plan.yaml"),
    "lock": ("lock", "plan.yaml"),
    "init": ("init", "begun"),
    "designs": ("init", "--list"),
    "catalog": ("catalog", "transceiver"),
    "schema": ("schema", "plan"),
    "completion": ("completion", "bash"),
    "help": ("--help",),
    "margin": ("margin", str(PLANS / "llama65b-linkx.yaml"), "--set", "quote.cost_book=../prices/example-2026q4.yaml"),
}
COMMANDS = pytest.mark.parametrize("command", PRINTING)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A folder with a plan."""
    (tmp_path / "plan.yaml").write_text(NEW, encoding="utf-8")
    return tmp_path


def with_stream(work: Path, command: str, number: int, stream: int) -> Outcome:
    """Run a command with a stream of ours; it is closed here afterwards."""
    try:
        return outcome(PRINTING[command], work, streams={number: stream})
    finally:
        os.close(stream)


@COMMANDS
def test_standard_output_that_is_full(command: str, work: Path) -> None:
    """It is an output that could not be written: code 3 and one line."""
    done = with_stream(work, command, 1, os.open("/dev/full", os.O_WRONLY))
    assert (done.code, done.errors) == (3, ["bomgen: not written: No space left on device"])


@pytest.mark.parametrize("command", PRINTING if DEEP else ["built", "check", "prices", "lock", "init", "margin"])
def test_standard_output_whose_reader_has_gone(command: str, work: Path) -> None:
    """The program ends as by SIGPIPE, and says nothing; tests/cli/test_terminal.py has it of other commands."""
    reading, writing = os.pipe()
    os.close(reading)
    done = with_stream(work, command, 1, writing)
    assert (done.code, done.errors) == (-signal.SIGPIPE, [])


@pytest.mark.parametrize("how", ["full", "gone"])
@pytest.mark.parametrize("wrong", [False, True])
def test_standard_error_that_takes_nothing(how: str, wrong: bool, work: Path) -> None:
    """What cannot be said changes nothing: the result is written, or the exit code says why not."""
    if wrong:
        (work / "plan.yaml").write_text(NEW.replace("qm9700", "qm9701"), encoding="utf-8")
    stream = os.open("/dev/full", os.O_WRONLY)
    if how == "gone":
        os.close(stream)
        reading, stream = os.pipe()
        os.close(reading)
    done = with_stream(work, "built", 2, stream)
    assert (1 if wrong else 0) == done.code
    assert wrong != (work / "dist" / "small" / "bom.json").is_file()


@pytest.mark.parametrize(
    ("closed", "arguments", "code", "said"),
    [
        ("1", "build plan.yaml -f json", 3, "bomgen: not written: standard output is closed\n"),
        ("2", "build plan.yaml -q -f json", 0, ""),
        ("2", "build plan.yaml -q -f xlsx", 0, ""),
        ("2", "build gone.yaml", 2, ""),
        ("0", "build - -q", 2, "Error: cannot read the plan '-': standard input is closed\n"),
        ("0", "build plan.yaml -q -f json", 0, ""),
        ("012", "build plan.yaml -q -f json", 3, ""),
    ],
)
def test_streams_that_are_closed(
    closed: str, arguments: str, code: int, said: str, work: Path, bomgen: Callable[..., Outcome]
) -> None:
    """A stream that nobody opened is not mistaken for a file of results."""
    done = bomgen(arguments, work, "".join(f" {number}>&-" for number in closed))
    assert (code, said) == (done.code, done.said)
    if code == 0:
        made = state(work / "dist")
        assert {made[name][:1] in (b"{", b"P") for name in made if made[name] is not None} == {True}
