"""A search against `build`: each design, the front over all of them, and the plans that are written of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from fractions import Fraction
from pathlib import Path

import pytest
from click.testing import CliRunner

import bomgen
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.report.search.front import find_front
from bomgen.workflow.inputs import open_plan
from bomgen.workflow.search import open_search, work_out_designs

ROOT = Path(__file__).parents[2]
PLAN = str(ROOT / "plans" / "search-30b.yaml")
OVER = ("cluster.gpu=h100-sxm,b200-sxm", "cluster.servers=6..30 step 4", "fabrics.compute.oversubscription=1,2")


def test_every_design_is_what_build_makes_of_it() -> None:
    """Cost, days, power and counts of 28 designs, and the front by its definition over them."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), (*OVER, "fabrics.compute.topology=fat-tree"))
    found = list(work_out_designs(file, (), space))
    assert 28 == space.size == len(found)
    built = [bomgen.build(PLAN, set=space.settings(place)) for place in range(space.size)]
    for each, result in zip(found, built, strict=True):
        assert result.totals["amount"] == str(each.measures["cost"])
        assert result.number("workload.days") == float(Fraction(each.measures["days"] or 0))
        assert result.number("site.power_w") == each.measures["power"]
        assert result.number("fabrics.compute.switches.total") == each.measures["switches"]
        assert result.number("fabrics.compute.transceivers.total") == each.measures["modules"]
        assert result.number("cluster.gpus") == each.measures["gpus"]
    points = {
        place: (float(result.totals["amount"]), result.number("workload.days"), result.number("site.power_w"))
        for place, result in enumerate(built)
        if result.number("workload.days") <= 30  # type: ignore[operator]
    }
    best = {
        place
        for place, own in points.items()
        if not any(other != own and all(a <= b for a, b in zip(other, own, strict=True)) for other in points.values())  # type: ignore[operator]
    }
    front = find_front(space, found)
    assert {points[place] for place in best} == {points[row.candidate.place] for row in front.rows}


def test_several_processes_find_the_same() -> None:
    """In the same order."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), OVER)
    assert list(work_out_designs(file, (), space)) == list(work_out_designs(file, (), space, jobs=2))


def test_plans_of_the_front_come_to_what_the_search_said(tmp_path: Path) -> None:
    """They are ordinary plans, which extend the one that was searched."""
    plan = tmp_path / "plan.yaml"
    text = Path(PLAN).read_text("utf-8").replace("../prices", "prices")
    plan.write_text(text, "utf-8")
    (tmp_path / "prices").symlink_to(ROOT / "prices")
    over = [word for each in OVER for word in ("--over", each)]
    folder = tmp_path / "found"
    outcome = CliRunner().invoke(
        main,
        [
            "search",
            str(plan),
            "--root",
            "/",
            *over,
            "-f",
            "json",
            "-o",
            str(tmp_path / "front.json"),
            "--write",
            str(folder),
        ],
    )
    assert outcome.exit_code == 0, outcome.output
    front = json.loads((tmp_path / "front.json").read_text("utf-8"))["front"]
    paths = sorted(folder.iterdir())
    assert len(paths) == len(front) > 5
    for path, row in zip(paths[:5], front, strict=False):
        assert bomgen.build(path, root="/").totals["amount"] == row["measures"]["cost"]
    again = CliRunner().invoke(main, ["search", str(plan), "--root", "/", *over, "--write", str(folder)])
    assert again.exit_code == 2


@pytest.mark.parametrize("form", ["text", "md", "html", "xlsx", "csv", "parquet", "json"])
def test_every_format_has_every_row(form: str, tmp_path: Path) -> None:
    """In both languages."""
    for language in ("en", "zh"):
        out = tmp_path / f"{language}.{form}"
        words = ["--over", "cluster.servers=14..16", "--set", f"quote.language={language}", "-f", form, "-o", str(out)]
        outcome = CliRunner().invoke(main, ["search", PLAN, *words])
        assert outcome.exit_code == 0, outcome.output
        content = out.read_bytes()
        if form in ("text", "md", "csv"):
            assert all(str(servers).encode() in content for servers in range(14, 17))
        assert len(content) > 500


def test_nothing_feasible_names_the_nearest_and_ends_with_1() -> None:
    """With what breaks the bound."""
    outcome = CliRunner().invoke(main, ["search", PLAN, "--over", "cluster.servers=2..4", "--within", "days=3"])
    assert outcome.exit_code == 1
    assert "The nearest is gpu b200-sxm, servers 4, topology fat-tree: Days 43.4 days, at most 3 days" in outcome.output


def test_plans_are_written_only_where_they_can_extend_the_one_that_was_searched(tmp_path: Path) -> None:
    """Not of a plan from standard input, and not outside its folder tree."""
    words = ["--over", "cluster.servers=6..7", "--minimise", "days", "--write", str(tmp_path / "found")]
    outside = CliRunner().invoke(main, ["search", PLAN, *words])
    assert (outside.exit_code, "is outside the plan's folder tree" in outside.output) == (2, True)
    text = "bomgen: 1\nname: x\ncluster: {gpu: h100-sxm}\nworkload: {training: {model: {parameters: 7B}, tokens: 1T}}\n"
    piped = CliRunner().invoke(main, ["search", "-", *words], input=text)
    assert (piped.exit_code, "a plan from standard input cannot be extended" in piped.output) == (2, True)
    assert not (tmp_path / "found").exists()


def test_build_ignores_the_search() -> None:
    """The plan describes a design of its own."""
    assert bomgen.build(PLAN).number("cluster.servers") == 16


def test_a_search_with_a_wrong_word_is_refused_at_its_place() -> None:
    """At the line of the plan, or of the option."""
    file = open_plan(PLAN, None)
    with pytest.raises(PlanErrors) as caught:
        open_search(file, (), (), ("cost,dasy",))
    assert (
        str(caught.value.problems[0]) == "<minimise>:1:1: error: unknown measure 'dasy'; did you mean 'days'? [search]"
    )


def test_an_interrupted_search_shows_what_it_found() -> None:
    """Ctrl-C in the middle of a long search: exit code 130, and a front of what was worked out."""
    words = [sys.executable, "-m", "bomgen.cli", "search", PLAN, "--over", "cluster.servers=8..5000", "-f", "json"]
    process = subprocess.Popen(
        words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={**os.environ, "COVERAGE": ""}
    )
    time.sleep(4)
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    found = json.loads(out)
    assert 0 < found["tried"] < found["designs"]
    assert found["front"]
