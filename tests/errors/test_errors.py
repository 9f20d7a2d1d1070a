"""Wrong plans and what is said of them: each `NAME.yaml` here is checked, and its stderr is `NAME.log`."""

# ruff: noqa: SIM300

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from bomgen.cli import main

HERE = Path(__file__).parent
PLANS = sorted(HERE.glob("*.yaml"))
FIRST_LINE = re.compile(r"(?P<place>[^:]+:[0-9]+:[0-9]+): error: (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]")


def difference(expected: str, actual: str, name: str) -> str:
    """What a transcript has that the other has not, as a unified diff; empty when they are alike."""
    lines = difflib.unified_diff(
        expected.splitlines(), actual.splitlines(), f"{name} (expected)", "printed", lineterm=""
    )
    return "\n".join(lines)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_a_wrong_plan_is_refused_in_these_words(plan: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`bomgen check` exits with 1, says nothing on stdout, and on stderr what the transcript says."""
    monkeypatch.chdir(HERE)
    outcome = CliRunner().invoke(main, ["check", plan.name])
    assert "" == difference(plan.with_suffix(".log").read_text(encoding="utf-8"), outcome.stderr, plan.stem)
    assert (1, "") == (outcome.exit_code, outcome.stdout)


@pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.stem)
def test_a_transcript_names_place_fault_remedy_and_rule(plan: Path) -> None:
    """The first problem has its place in the plan, or a file of it; what is wrong, what would be right, and a rule."""
    first = plan.with_suffix(".log").read_text(encoding="utf-8").splitlines()[0]
    match = FIRST_LINE.fullmatch(first)
    assert match is not None, first
    file = match["place"].rsplit(":", 2)[0]
    assert file == plan.name or (HERE / file).is_file()
    assert re.search("; |must |: at most ", match["message"]), first


def test_every_transcript_has_a_plan() -> None:
    """No transcript and no plan is left alone, and there are some."""
    assert [path.stem for path in PLANS] == sorted(path.stem for path in HERE.glob("*.log"))
    assert len(PLANS) > 25
