"""Wrong plans and what is said of them: the stderr of each case of cases/ is what it `says` (see transcripts.py)."""

# ruff: noqa: SIM300

from __future__ import annotations

import difflib
import re
from pathlib import Path

import pytest
from transcripts import CASES, OUT, said_of, write_all

FIRST_LINE = re.compile(r"(?P<place>[^:]+:[0-9]+:[0-9]+): error: (?P<message>.+) \[(?P<rule>[a-z0-9-]+)\]")
FOUND_IN = ("<set>", "<over>", "<minimise>", "<within>")
"""Places outside files: what `--set` gives."""


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all plans and the files that they name."""
    folder = tmp_path_factory.mktemp("plans")
    write_all(folder)
    return folder


def difference(expected: str, actual: str, name: str) -> str:
    """What a transcript has that the other has not, as a unified diff; empty when they are alike."""
    lines = difflib.unified_diff(
        expected.splitlines(), actual.splitlines(), f"{name} (expected)", "printed", lineterm=""
    )
    return "\n".join(lines)


@pytest.mark.parametrize("name", CASES)
def test_a_wrong_plan_is_refused_in_these_words(name: str, plans: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command exits with 1, says nothing on stdout, and on stderr what the transcript says."""
    monkeypatch.chdir(plans)
    said = said_of(name)
    assert "" == difference(CASES[name]["says"], said.stderr, name)
    assert (1, "") == (said.exit_code, said.stdout)
    assert not (plans / OUT).exists()


@pytest.mark.parametrize("name", CASES)
def test_a_transcript_names_place_fault_remedy_and_rule(name: str, plans: Path) -> None:
    """The first error has its place in the plan, or a file of it; what is wrong, what would be right, and a rule."""
    first = next(line for line in CASES[name]["says"].splitlines() if ": error: " in line)
    match = FIRST_LINE.fullmatch(first)
    assert match is not None, first
    file = match["place"].rsplit(":", 2)[0]
    assert file == f"{name}.yaml" or file in FOUND_IN or (plans / file).exists()
    assert re.search("; |must |: at most |: name |: give |: write ", match["message"]), first


def test_there_are_transcripts() -> None:
    """Of hundreds of plans."""
    assert len(CASES) > 500
