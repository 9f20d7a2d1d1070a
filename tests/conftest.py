"""What several tests share: building a plan as a user would, and reading the files that come of it."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from installed import wheel_in
from written_plans import plan_file

from bomgen.output.writer import render, write
from bomgen.report.result import Report
from bomgen.workflow.pipeline import work_out

Built = Callable[[Mapping[str, Any]], dict[str, Any]]
Cells = Callable[[dict[str, Any], Iterable[str]], dict[str, Any]]
Worked = Callable[[Mapping[str, Any]], Report]

# `make deep` looks further, at other examples each time; the tests of every day look at the same ones.
settings.register_profile("default", max_examples=50, deadline=None, derandomize=True, database=None)
settings.register_profile("deep", max_examples=3000, deadline=None, derandomize=False, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


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
        written = write(render(work_out(plan_file(plan, folder)), ("json",)), folder)
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
