"""Wrong plans and what is said of them: the stderr of each `NAME.yaml` here is `NAME.txt` (see transcripts.py)."""

# ruff: noqa: SIM300

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest
from transcripts import HERE, OUT, PLANS, said_of

FIRST_LINE = re.compile(r"(?P<place>[^:]+:[0-9]+:[0-9]+): error: (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]")
FOUND_IN = ("<set>", "<over>", "<minimise>", "<within>")
"""Places outside files: what `--set` gives."""


def difference(expected: str, actual: str, name: str) -> str:
    """What a transcript has that the other has not, as a unified diff; empty when they are alike."""
    lines = difflib.unified_diff(
        expected.splitlines(), actual.splitlines(), f"{name} (expected)", "printed", lineterm=""
    )
    return "\n".join(lines)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_a_wrong_plan_is_refused_in_these_words(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command exits with 1, says nothing on stdout, and on stderr what the transcript says."""
    monkeypatch.chdir(HERE)
    said = said_of(plan)
    assert "" == difference(plan.with_suffix(".txt").read_text(encoding="utf-8"), said.stderr, plan.stem)
    assert (1, "") == (said.exit_code, said.stdout)
    assert not (HERE / OUT).exists()


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_a_transcript_names_place_fault_remedy_and_rule(plan: Path) -> None:
    """The first error has its place in the plan, or a file of it; what is wrong, what would be right, and a rule."""
    lines = plan.with_suffix(".txt").read_text(encoding="utf-8").splitlines()
    first = next(line for line in lines if ": error: " in line)
    match = FIRST_LINE.fullmatch(first)
    assert match is not None, first
    file = match["place"].rsplit(":", 2)[0]
    assert file == plan.name or file in FOUND_IN or (HERE / file).exists()
    assert re.search("; |must |: at most |: name |: give |: write ", match["message"]), first


def test_every_transcript_has_a_plan() -> None:
    """No transcript and no plan is left alone, and there are some."""
    assert sorted(path.stem for path in PLANS) == sorted(path.stem for path in HERE.glob("*.txt"))
    assert len(PLANS) > 250
