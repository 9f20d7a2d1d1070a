"""Which tests reach which line of the pure rooms, and how long each takes: the tests that a mutant is given to.

`run(root, build)` runs the tests once under coverage with a context for each test; `measured(build)` reads what that
left behind, and `branches(build)` how many of the branches of the pure rooms the tests take.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

from coverage import Coverage, CoverageData
from freshness import TIMES
from mutants import modules

# Tests that judge what the pure rooms work out, in their own process. Those of formats, drawings, files and the command
# reach every line too, but cost most of the time and judge other rooms.
UNITS = {
    "catalog": "accelerators",
    "fabric": "line_cards rare_branches topologies",
    "optics": "compatibility fan_out",
    "sizing": "parallelism replicas storage_result",
    "design": "attached_hosts known_failures networks",
    "pricing": "money",
    "results": "costs explain",
    "documents": "quotes",
    "workflow": "editor_schema",
}
"""By room, the tests of units."""
TESTS = (
    "tests/tools/mutation/plan_outcomes.py",
    "tests/corners",
    "tests/laws",
    "tests/reference",
    "tests/errors",
    "tests/test_calls.py",
    *(f"tests/{room}/test_{unit}.py" for room, units in UNITS.items() for unit in units.split()),
)
DECLARED = "tests/workflow/test_editor_schema.py"
"""Judges what modules declare, at an import that no test of the module makes."""
PHASE = "|"  # between a test and its phase in the name of a context


class Covering(NamedTuple):
    """Seconds of each test, and the tests of each line of each module."""

    seconds: dict[str, float]
    lines: dict[str, dict[int, list[str]]]

    def tests(self, path: str, line: int) -> list[str]:
        """The tests that reach a line, quickest first.

        For a line that only an import reaches those of the module, and those of what modules declare; a test in which
        the module happened to be imported first shows nothing about it.
        """
        of_module = self.lines.get(path, {})
        found, imports = (set(of_module.get(each, ())) for each in (line, min(of_module, default=line)))
        if found <= imports:
            found.update(*of_module.values(), (test for test in self.seconds if test.startswith(DECLARED)))
        return sorted(found, key=lambda test: (self.seconds.get(test, 0), test))


def run(root: Path, build: Path) -> int:
    """Run the tests under coverage, with its data and the tests' times in `build`; pytest's exit code."""
    build.mkdir(parents=True, exist_ok=True)
    rooms = ",".join(modules(root))
    (build / "coveragerc").write_text(
        f"[run]\nbranch = true\nrelative_files = true\ninclude = {rooms}\n", encoding="utf-8"
    )
    command = [
        sys.executable,
        "-m",
        "pytest",
        *TESTS,
        "--numprocesses=auto",
        "--dist=loadfile",
        "-p",
        "no:cacheprovider",
    ]
    command += ["--cov", f"--cov-config={build / 'coveragerc'}", "--cov-context=test", "--cov-report="]
    command += [f"--junitxml={build / TIMES}", "-o", "junit_family=xunit1"]
    return subprocess.run(
        command, cwd=root, env={**os.environ, "COVERAGE_FILE": str(build / "coverage")}, check=False
    ).returncode


def measured(build: Path) -> Covering:
    """What a run left behind."""
    data = CoverageData(str(build / "coverage"))
    data.read()
    lines: dict[str, dict[int, list[str]]] = {}
    for path in data.measured_files():
        by_line = defaultdict(list)
        for line, contexts in data.contexts_by_lineno(path).items():
            by_line[line] = sorted({context.rpartition(PHASE)[0] for context in contexts if context})
        lines[path] = dict(by_line)
    return Covering(_seconds(build / TIMES), lines)


def _seconds(times: Path) -> dict[str, float]:
    cases = ElementTree.parse(times).iter("testcase")  # noqa: S314 - written by pytest
    return {f"{case.get('file')}::{case.get('name')}": float(case.get("time", "0")) for case in cases}


def branches(build: Path) -> float:
    """Print the lines and branches that no test takes, and return the share taken in percent."""
    coverage = Coverage(data_file=str(build / "coverage"), config_file=str(build / "coveragerc"))
    coverage.load()
    return coverage.report(show_missing=True, skip_covered=True)
