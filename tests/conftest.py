"""What several tests share: building a plan as a user would, and reading the files that come of it."""

from __future__ import annotations

import gc
import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from depth import DEEP, VARIED_PLANS
from hypothesis import settings
from installed import wheel_in
from judging import Judge, find_judge, skip_or_fail
from written_plans import plan_file

from bomgen.output.pdf import NotPrinted, pdf
from bomgen.output.writer import render, write_files
from bomgen.results.result import Report
from bomgen.workflow.pipeline import work_out

# Tests read hundreds of YAML files, ten times faster in C.
yaml.SafeLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # type: ignore[misc]

# The tests of a session and what they remember stay until its end: Python would look through all of it for cycles again
# and again, which takes a fifth of the time of those that run in this process.
gc.set_threshold(50_000, 20, 100)

HERE = Path(__file__).parent
Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]

# `make deep` looks further, at other examples each time; a user and continuous integration look at the same ones.
settings.register_profile("daily", max_examples=15, deadline=None, derandomize=True, database=None)
settings.register_profile("deep", max_examples=50, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "daily"))


LONG = (
    *("judges", "faults", "fuzz", "everywhere", "docs/test_site.py", "project/test_review.py"),
    *("xray/test_xray_networks.py", "workflow/test_search_cluster.py", "apply/test_apply_programs.py"),
)
"""Folders and files of tests that are marked `long`: outside programs, faults at every operation, whole sites."""
KEPT = ("faults/test_installation.py",)
"""Those of them that are short, so that a user runs one test of each kind."""
PLANS = {path.stem for path in (HERE.parent / "plans").glob("*.yaml")}
FEW_PLANS = {"llama65b", "llama65b-quote", "a100-32-zh", "llama2-7b-chat"}
"""Of the tests that run for every plan of plans/ those that a user runs."""
EVERY_PLAN = (
    *("cli/test_cli.py", "cli/test_diff_command.py", "core/test_translations.py", "output/test_face.py"),
    *("laws/test_wiring_laws.py", "results/test_explain.py", "results/test_elevations.py", "apply/test_apply.py"),
)
"""Files whose tests build every plan of plans/: but for the varied ones, they are marked `deep`."""
JUDGING = {"judge", "printer"}
"""Fixtures of tests that are marked `judged`: they ask for a program or library that a bare machine lacks."""
LEFT = pytest.StashKey[int]()
"""How many tests `-m 'not long'` leaves out."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark long tests, those that ask for a judge, and those of every plan; leave out the deep ones."""
    for item in items:
        place = item.path.relative_to(HERE).as_posix()
        values = (
            item.callspec.params.values() if isinstance(item, pytest.Function) and hasattr(item, "callspec") else ()
        )
        plans = {value.stem if isinstance(value, Path) else str(value) for value in values} & PLANS
        if (place.startswith(LONG) and place not in KEPT) or plans - FEW_PLANS:
            item.add_marker(pytest.mark.long)
        if place in EVERY_PLAN and plans - VARIED_PLANS:
            item.add_marker(pytest.mark.deep)
        if isinstance(item, pytest.Function) and JUDGING & {*item.fixturenames}:
            item.add_marker(pytest.mark.judged)
    if not DEEP:
        items[:] = [item for item in items if item.get_closest_marker("deep") is None]


def pytest_deselected(items: list[pytest.Item]) -> None:
    """Count the long tests that are left out."""
    for item in items:
        left = "long" in item.config.option.markexpr and item.get_closest_marker("long") is not None
        item.config.stash[LEFT] = item.config.stash.get(LEFT, 0) + left


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Let a process that runs tests tell the one that reports how many it left out: all leave out the same."""
    if (told := getattr(session.config, "workeroutput", None)) is not None:
        told["left"] = session.config.stash.get(LEFT, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a process left out."""
    node.config.stash[LEFT] = getattr(node, "workeroutput", {}).get("left", 0)


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Where a judge is. One that is missing skips the test, or fails it on a continuous-integration machine."""
    return find_judge


@pytest.fixture(scope="session")
def printer() -> None:
    """What bomgen prints PDFs with. Where it is missing the test is skipped, or fails like one without its judge."""
    _print_or_skip("Page")


@pytest.fixture(scope="session")
def chinese_printer(printer: None) -> None:  # noqa: ARG001, which marks its tests, too
    """The same, with a font that has Chinese letters."""
    _print_or_skip("训")


def _print_or_skip(text: str) -> None:
    try:
        pdf(f"<!DOCTYPE html><title>Page</title><p>{text}</p>".encode())
    except NotPrinted as error:
        if "install" not in str(error):  # it is there, and bomgen cannot use it
            raise
        skip_or_fail(str(error))


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel built from the checkout."""
    return wheel_in(tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="session")
def worked(tmp_path_factory: pytest.TempPathFactory) -> Worked:
    """The report of a plan given as plain data."""
    folder = tmp_path_factory.mktemp("plans")
    return lambda plan: work_out(plan_file(plan, folder))


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """The bom.json that is delivered for a plan given as plain data."""
    folder = tmp_path_factory.mktemp("built")

    def build(plan: Mapping[str, Any]) -> dict[str, Any]:
        written = write_files(render(work_out(plan_file(plan, folder)), ("json",)), folder)
        data: dict[str, Any] = json.loads(written[0].read_text(encoding="utf-8"))
        return data

    return build


@pytest.fixture(scope="session")
def cells() -> Cells:
    """The values at dotted paths of a bom.json; None where there is nothing."""

    def value(data: Any, path: str) -> Any:
        for step in path.split("."):
            data = data.get(step) if isinstance(data, dict) else None
        return data

    return lambda bom, paths: {path: value(bom, path) for path in paths}


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say at the end of a run which tests were skipped, and what would run them."""
    skipped = terminalreporter.stats.get("skipped", ())
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in skipped)
    if reasons:
        terminalreporter.section("skipped tests, and how to run them")
    for reason, count in reasons.most_common():
        terminalreporter.write_line(f"{count} test{'s' if count > 1 else ''}: {reason}")
    if left := terminalreporter.config.stash.get(LEFT, 0):
        terminalreporter.write_line(f"{left} long tests are left to continuous integration: make test CI=true")
