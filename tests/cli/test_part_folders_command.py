"""`bomgen check` and `bomgen catalog` with folders of parts: what is printed, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from bomgen.cli.command import main

PLAN = "bomgen: 1\nname: pilot\ncatalog: [parts/]\ncluster: {gpu: h100-sxm, servers: 1}\n"
SWITCH = "name: Acme\npart_number: ACME-64\nports: 64\nport_gbps: 400\nprotocol: IB\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a plan and a part, which is the working one."""
    (tmp_path / "parts" / "switch").mkdir(parents=True)
    (tmp_path / "parts" / "switch" / "acme.yaml").write_text(SWITCH, encoding="utf-8")
    (tmp_path / "pilot.yaml").write_text(PLAN, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said(*words: str) -> tuple[int, str, str]:
    """Exit code, output and messages of a command."""
    outcome = CliRunner().invoke(main, list(words))
    return outcome.exit_code, outcome.stdout, outcome.stderr


def test_folders_and_plans_are_checked_together(folder: Path) -> None:
    """The worst exit code counts; a folder that is not there is wrong usage, as a plan."""
    code, output, _ = said("check", "parts/", "pilot.yaml")
    assert (code, output.splitlines()) == (0, ["parts/: 1 part file, 0 warnings", "pilot.yaml: buildable"])
    (folder / "parts" / "switch" / "other.yaml").write_text("ports: 64\nport_gbps: fast\n", encoding="utf-8")
    assert said("check", "parts/", "pilot.yaml")[0] == 1
    assert said("check", "nowhere/")[0] == 2
    code, _, messages = said("check", ".")
    assert (code, "'.' has no folder of a kind of part" in messages) == (2, True)


def test_problems_of_a_folder_as_json_and_for_github(folder: Path) -> None:
    """In the formats of plans."""
    (folder / "parts" / "switch" / "acme.yaml").write_text(f"{SWITCH}powr: 1 kW\n", encoding="utf-8")
    code, output, _ = said("check", "parts", "--format", "json")
    (problem,) = json.loads(output)
    assert (code, problem["file"], problem["line"], problem["rule"]) == (1, "parts/switch/acme.yaml", 6, "unknown-key")
    assert said("check", "parts", "--format", "github")[1].startswith(
        "::error file=parts/switch/acme.yaml,line=6,col=1::"
    )


@pytest.mark.parametrize(
    "option", [("--parts", "parts"), ("--plan", "pilot.yaml"), ("--parts", "parts", "--plan", "pilot.yaml")]
)
def test_the_catalogue_with_the_parts_of_a_folder(folder: Path, option: tuple[str, ...]) -> None:
    """Listed, found by number and by conditions, shown in full with their canonical values."""
    assert folder.is_dir()
    for words in (("switch",), ("switch", "--where", "ports=64 name=acme"), ("switch", "--audit")):
        code, output, _ = said("catalog", *words, *option)
        assert (code, "acme" in output) == (0, True)
    code, output, _ = said("catalog", "Acme ACME-64-EU", *option)
    assert (code, output.splitlines()[0]) == (0, "switch acme")
    assert ["protocol", "infiniband"] in [line.split() for line in output.splitlines()]


def test_a_folder_with_errors_is_refused(folder: Path) -> None:
    """With the line of the file; what is no folder is wrong usage."""
    (folder / "parts" / "switch" / "acme.yaml").write_text("name: [\n", encoding="utf-8")
    code, _, messages = said("catalog", "switch", "--parts", "parts")
    assert (code, messages.startswith("parts/switch/acme.yaml:")) == (1, True)
    assert said("catalog", "switch", "--parts", "nowhere")[0] == 2
    assert said("catalog", "switch", "--parts", "pilot.yaml")[0] == 2
    assert said("catalog", "switch", "--plan", "nowhere.yaml")[0] == 2


def test_links_stay_inside_the_folder_that_they_are_in(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Two folders given together do not widen each other."""
    other = tmp_path_factory.mktemp("other") / "more"
    (other / "nic").mkdir(parents=True)
    (other / "nic" / "acme.yaml").symlink_to(folder / "pilot.yaml")
    code, _, messages = said("catalog", "nic", "--parts", "parts", "--parts", str(other))
    assert (code, "leads out" in messages, "bomgen: 1" in messages) == (1, True, False)
