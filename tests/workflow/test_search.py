"""A search against `build`: each design, the front over all of them, and the plans that are written of it."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection
from fractions import Fraction
from functools import partial, reduce
from io import StringIO
from pathlib import Path
from typing import NamedTuple

import pytest
from click.testing import CliRunner
from processor import PATIENCE

import bomgen
from bomgen.cli.command import main
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.language import language as language_of
from bomgen.output.writer import render_search
from bomgen.plan.search_space import MAX_DESIGNS, MAX_LISTED
from bomgen.results.designs import UNITS, Columns, SearchedDesign, candidate_at
from bomgen.results.front import PartialFront, merge_fronts
from bomgen.workflow import design_search
from bomgen.workflow.design_search import (
    DesignByDesign,
    SearchRequest,
    find_front,
    look_for_front,
    open_search,
    take_in_processes,
    work_out_design,
)
from bomgen.workflow.pipeline import BrokenResult
from bomgen.workflow.plan_files import open_plan

ROOT = Path(__file__).parents[2]
PLAN = str(ROOT / "plans" / "search-30b.yaml")
OVER = ("cluster.gpu=h100-sxm,b200-sxm", "cluster.servers=6..30 step 4", "fabrics.compute.oversubscription=1,2")


def test_every_design_is_what_build_makes_of_it() -> None:
    """Cost, days, power and counts of 28 designs, and the front by its definition over them."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), (*OVER, "fabrics.compute.topology=fat-tree"))
    assert space.size == 28
    found = [work_out_design(SearchRequest(file, (), space), place) for place in range(space.size)]
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
    front, stopped = find_front(file, (), space)
    assert stopped is None
    assert {points[place] for place in best} == {points[row.candidate.place] for row in front.rows}


def test_several_processes_find_the_same() -> None:
    """All that is said of the space, in the same order."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), OVER)
    assert find_front(file, (), space) == find_front(file, (), space, jobs=2)


class DieOnce(NamedTuple):
    """Looks for a front, and kills its process at the first part that begins at a place."""

    work: Callable[[range], PartialFront]
    at: int
    mark: str

    def __call__(self, part: range) -> PartialFront:
        """The front of a part."""
        if part.start == self.at and not Path(self.mark).exists():
            Path(self.mark).touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return self.work(part)


def test_a_process_that_dies_costs_only_time(tmp_path: Path) -> None:
    """What it was at is repeated, by other processes."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), ("cluster.servers=6..13", "cluster.gpu=h100-sxm"))
    work = DieOnce(partial(look_for_front, SearchRequest(file, (), space)), 4, str(tmp_path / "died"))
    parts = [range(at, at + 2) for at in range(0, space.size, 2)]
    with take_in_processes(2) as take:
        found = [front for _, front in take(work, parts)]
    assert (tmp_path / "died").exists()
    assert sum(front.tried for front in found) == space.size
    whole = reduce(partial(merge_fronts, space), found)
    assert whole.places.tolist() == work.work(range(space.size)).places.tolist()


def test_columns_that_differ_from_the_whole_design_are_an_internal_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Never a tolerance: a cent too much, and both values are named; power cords may be included and are in neither."""

    class Wrong(DesignByDesign):
        def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
            found = super().columns(start, stop, names)
            return found._replace(measures={**found.measures, "cost": found.measures["cost"] + 1})

    monkeypatch.setattr(design_search, "evaluator_of", Wrong)
    file = open_plan(PLAN, None)
    space = open_search(file, (), ("cluster.servers=7..8", "cluster.gpu=h100-sxm"), (), ("days=1000",))
    with pytest.raises(
        BrokenResult, match=r"cost of .*cluster.servers=7.* is 276003189 in columns, 2760031\.88 as a whole"
    ):
        find_front(file, (), space)


def test_only_the_best_and_what_is_written_is_worked_out_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """All rows come to the same either way, to the last digit of every format, predicted days among them."""
    worked_out = list[int]()

    def work_out(search: SearchRequest, place: int) -> SearchedDesign:
        worked_out.append(place)
        return work_out_design(search, place)

    monkeypatch.setattr(design_search, "work_out_design", work_out)
    file = open_plan(PLAN, None)
    space = open_search(file, (), (*OVER, "workload.training.mfu=35%,predicted"))
    front, _ = find_front(file, (), space)
    assert len(worked_out) <= len(space.minimise) < len(front.rows)
    worked_out.clear()
    whole, _ = find_front(file, (), space, whole=True)
    assert set(worked_out) == {row.candidate.place for row in front.rows}
    for form in ("json", "csv", "html"):
        one, other = (render_search(each, "plan", language_of("en"), form) for each in (front, whole))
        assert one == other


def test_a_range_costs_no_list_and_a_billion_designs_are_the_most() -> None:
    """Of more, the number is said; lists have their own limit."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), ("cluster.servers=8..100000000", "cluster.gpu=h100-sxm"))
    assert space.size == 2 * (10**8 - 7)
    assert space.settings(space.size - 1)[1:] == (
        "cluster.servers=100000000",
        "fabrics.compute.topology=rail-optimized",
    )
    for over, said in (
        (f"cluster.servers=1..{10**30}", f"designs; at most {MAX_DESIGNS} are evaluated"),
        (f"cluster.servers=1..3,1..{MAX_LISTED + 1}", f"more than {MAX_LISTED} values in a list"),
    ):
        with pytest.raises(PlanErrors, match=said):
            open_search(file, (), (over,))
    with pytest.raises(PlanErrors, match="over 1000000000000000000 designs"):
        open_search(file, (), tuple(f"quote.k{number}=1,2" for number in range(20_000)))


def test_costs_in_several_currencies_are_not_compared() -> None:
    """There is no cheapest of dollars and euros."""
    file = open_plan(PLAN, None)
    space = open_search(file, (), ("quote.currency=USD,EUR", "cluster.servers=6"))
    with pytest.raises(PlanErrors, match="costs in EUR, USD cannot be compared"):
        find_front(file, ("quote.exchange.USD={rate: 0.9, date: 2026-11-02}",), space)


def test_predicted_days_at_the_end_of_their_interval(tmp_path: Path) -> None:
    """What is compared and kept within bounds is what `build` calls the high end; the interval is shown."""
    words = [
        "--set",
        "workload.training.mfu=predicted",
        "--over",
        "cluster.servers=16..17",
        "--over",
        "cluster.gpu=h100-sxm",
    ]
    words += ["--set", "workload.training.model=llama-3.1-8b", "--set", "workload.training.sequence=8192"]
    rows = {}
    for confidence in ((), ("--confidence", "90%")):
        out = tmp_path / "front.json"
        outcome = CliRunner().invoke(main, ["search", PLAN, *words, *confidence, "--minimise", "days", "-o", str(out)])
        assert outcome.exit_code == 0, outcome.output
        rows[confidence] = json.loads(out.read_text("utf-8"))["front"][0]
    settings = [f"{key}={value}" for key, value in rows[()]["set"].items()]
    built = bomgen.build(PLAN, set=[*words[1:2], *words[7:8], *words[9:10], *settings])
    assert rows[()]["measures"]["days"] == built.number("workload.days")
    low, high = built.number("workload.days_low"), built.number("workload.days_high")
    assert rows["--confidence", "90%"]["measures"]["days"] == high
    assert [(row["days_low"], row["days_high"]) for row in rows.values()] == [(low, high)] * 2
    shown = CliRunner().invoke(main, ["search", PLAN, *words, "--confidence", "90%", "--minimise", "days"])
    assert "upper ends of the 90% intervals" in shown.output


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


@pytest.mark.parametrize("form", ["text", "md", "html", "xlsx", "csv", "json"])
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


def test_nothing_feasible_names_the_nearest_and_ends_with_1(tmp_path: Path) -> None:
    """With what breaks the bound; a workbook says so, too."""
    words = ["search", PLAN, "--over", "cluster.servers=2..4", "--within", "days=3"]
    workbook = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "none.xlsx")])
    assert (workbook.exit_code, (tmp_path / "none.xlsx").exists()) == (1, True), workbook.output
    outcome = CliRunner().invoke(main, words)
    assert outcome.exit_code == 1
    assert "The closest is gpu b200-sxm, servers 4, topology fat-tree: Days 43.4 days, at most 3 days" in outcome.output


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


def test_an_interrupted_search_shows_what_it_found(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a long search: exit code 130, and a front of what was worked out."""
    over = {"fabrics.compute.links.leaf-spine.length": [f"{length} m" for length in range(1, 3000)]}
    plan = {
        "bomgen": 1,
        "name": "long",
        "cluster": {"gpu": "h100-sxm"},
        "fabrics": {"compute": {"topology": "fat-tree", "switch": "qm9700"}},
        "search": {"over": {**over, "cluster.servers": "8..64"}, "minimise": ["gpus", "switches"]},
    }
    (tmp_path / "long.yaml").write_text(json.dumps(plan), encoding="utf-8")
    words = [sys.executable, "-m", "bomgen", "search", str(tmp_path / "long.yaml"), "-f", "json"]
    for seconds in (2, 8, 30, 200):
        # A shell starts its background jobs with Ctrl-C ignored, and whatever they start inherits that.
        heard = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=heard)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=PATIENCE)
        if process.returncode == 130 and json.loads(out or "{}").get("front"):
            break  # a slow machine has worked nothing out after the first seconds
    assert process.returncode == 130, errors
    found = json.loads(out)
    assert 0 < found["tried"] < found["designs"]
    assert found["front"]


def test_no_dask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the extra `--scheduler` is wrong usage, in one line that says what to install."""
    monkeypatch.setitem(sys.modules, "distributed", None)
    found = CliRunner().invoke(main, ["search", PLAN, "--scheduler", "tcp://127.0.0.1:8786"])
    said = "Error: dask is not installed; pip install distributed"
    assert (found.exit_code, found.stderr.splitlines()[-1]) == (2, said)


def test_an_estimated_power_has_its_range_in_every_format(tmp_path: Path) -> None:
    """A design with a switch whose maximum power is not published says so wherever its power stands."""
    plan = tmp_path / "p.yaml"
    fabrics = "{compute: {topology: rail-optimized, switch: sn5600}}"
    plan.write_text(
        f"{{bomgen: 1, name: p, cluster: {{gpu: h100-sxm}}, site: {{rack: {{power: 30 kW}}}}, fabrics: {fabrics}}}\n",
        encoding="utf-8",
    )
    built = bomgen.build(plan, set=("cluster.servers=16",))
    least, most = built.data["site"]["power_w_range"].values()
    over = ("--over", "cluster.servers=16,24", "--minimise", "power", "--root", str(tmp_path))
    said = {}
    for form in ("text", "md", "html", "csv", "json"):
        found = CliRunner().invoke(main, ["search", str(plan), *over, "-f", form])
        assert found.exit_code == 0, found.output
        said[form] = found.stdout
    ends = f"({least / 1000:.4g} kW to {most / 1000:.4g} kW, estimate)"
    for form in ("text", "md", "html"):
        assert ends in said[form], form
    assert json.loads(said["json"])["front"][0]["ranges"]["power"] == {"low": least, "high": most}
    [row] = csv.DictReader(StringIO(said["csv"]))
    assert (row["power_low"], row["power_high"]) == (str(least), str(most))
    beyond = CliRunner().invoke(main, ["search", str(plan), *over, "--within", "power=1kW", "-f", "text"])
    assert f"{ends}, at most 1 kW" in beyond.stdout


def test_ranges_read_off_the_tables_are_those_of_whole_designs(tmp_path: Path) -> None:
    """Power and racks have the ranges of an estimate where hardware is worked out as columns, too."""
    (tmp_path / "p.yaml").write_text(
        "{bomgen: 1, name: p, cluster: {gpu: h100-sxm}, site: {rack: {power: 30 kW}, management: {power: 5.5 kW}}, "
        "fabrics: {compute: {topology: fat-tree, switch: sn5600}}}\n",
        encoding="utf-8",
    )
    file = open_plan(str(tmp_path / "p.yaml"), tmp_path)
    space = open_search(file, (), ("cluster.servers=1..300",), ("power",))
    search = SearchRequest(file, (), space)
    tables = design_search.evaluator_of(search)
    read = [candidate_at(tables.columns(at, at + 1), 0, space.currency) for at in range(0, space.size, 23)]
    whole = [work_out_design(search, each.place) for each in read]
    assert [each.ranges for each in read] == [each.ranges for each in whole]
    assert {name for each in whole for name in each.ranges} == {"power", "racks"}
