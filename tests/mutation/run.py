"""Mutation testing of the pure rooms: `python tests/mutation/run.py` from the top of a checkout.

Mutants are cosmic-ray's; its way of starting pytest anew for each takes three seconds before the first test, so that
`worker.py` forks instead. Workers have copies of the checkout, into which they write each mutant. A mutant is killed
when a test fails or does not end.

What was found is kept in `build/mutation` while module and line are as they were, so that a run that was interrupted
goes on. Survivors that were examined stand in `survivors.yaml` with the reason; one that does not is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import random
import shutil
import subprocess
import sys
from pathlib import Path

import yaml
from covering import TESTS, Covering, branches, measured
from covering import run as run_covered
from mutants import Mutant, modules, mutants
from worker import CONTROL, CONTROL_ANEW, OUTCOMES, SHARE, WITHOUT, Try

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "mutation"
SURVIVORS = Path(__file__).with_name("survivors.yaml")
COPIED = (
    "bomgen",
    "plans",
    "prices",
    "schemas",
    "templates",
    "tests",
    "docs",
    "pages",
    "ci",
    "pyproject.toml",
    "README.md",
)
BAR = 90
SEED = 8
CONTROL_SECONDS = 100


def main() -> int:
    """Measure, try what is asked for, print the score; 1 when it is under the bar or a survivor was not examined."""
    options = argparse.ArgumentParser(description="Mutation testing of the pure rooms")
    options.add_argument("--only", default="", help="modules whose path contains this")
    options.add_argument("--sample", type=int, default=0, help="as many mutants, drawn with a fixed seed")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--seconds", type=float, default=60, help="seconds of tests that a mutant must survive")
    options.add_argument("--again", action="store_true", help="try those once more that survived")
    asked = options.parse_args()
    if not (BUILD / "times.xml").exists() and run_covered(ROOT, BUILD):
        print("the tests fail without any mutant", file=sys.stderr)
        return 1
    share = branches(BUILD)
    every = _drawn(asked.only, asked.sample)
    known = _outcomes()
    covering = measured(BUILD)
    waiting = [mutant for mutant in every if _key(mutant) not in known or (asked.again and not known[_key(mutant)])]
    tries = [
        Try(_key(mutant), mutant.path, mutant.code, covering.tests(mutant.path, mutant.line), asked.seconds)
        for mutant in waiting
    ]
    workers = [_worker(number, tries[number :: asked.jobs], covering) for number in range(asked.jobs)]
    if sum(worker.wait() != 0 for worker in workers):
        print("a worker failed; see build/mutation/worker-N.log", file=sys.stderr)
        return 1
    return _report(every, _outcomes(), share)


def _drawn(only: str, sample: int) -> list[Mutant]:
    every = [mutant for path in modules(ROOT) if only in path for mutant in mutants(ROOT, path)]
    random.Random(SEED).shuffle(every)  # noqa: S311 - a draw, and no secret
    return every[:sample] if sample else every


def _key(mutant: Mutant) -> str:
    return hashlib.sha256(f"{mutant.path}\n{mutant.code}".encode()).hexdigest()[:16]


def _outcomes() -> dict[str, str | None]:
    """What became of each mutant so far: the test that killed it, or None where it survived every try."""
    lines = [line for file in sorted(BUILD.glob("outcomes-*.jsonl")) for line in file.read_text("utf-8").splitlines()]
    found = [json.loads(line) for line in lines]
    return dict(sorted(found, key=lambda outcome: outcome[1] is not None))


def _worker(number: int, tries: list[Try], covering: Covering) -> subprocess.Popen[bytes]:
    copy = BUILD / f"copy-{number}"
    shutil.rmtree(copy, ignore_errors=True)
    for name in COPIED:
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy2)(source, copy / name)
    slowest_first = sorted(covering.seconds, key=lambda test: (-covering.seconds[test], test))
    quickest = list({test.partition("::")[0]: test for test in slowest_first}.values())
    path = modules(ROOT)[0]
    code = (ROOT / path).read_text(encoding="utf-8")
    controls = [Try(way, path, code, quickest, CONTROL_SECONDS) for way in (CONTROL, CONTROL_ANEW)]
    share = BUILD / f"share-{number}.pickle"
    share.write_bytes(pickle.dumps((covering.seconds, [*controls, *tries])))
    with (BUILD / f"worker-{number}.log").open("wb") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "pytest", *TESTS, "-p", "worker", *WITHOUT],
            cwd=copy,
            stdout=log,
            stderr=log,
            env={
                **os.environ,
                "PYTHONPATH": f"{copy}{os.pathsep}{Path(__file__).parent}",
                "PYTHONDONTWRITEBYTECODE": "1",
                SHARE: str(share),
                OUTCOMES: str(BUILD / f"outcomes-{number}.jsonl"),
            },
        )


def _report(every: list[Mutant], known: dict[str, str | None], share: float) -> int:
    examined = yaml.safe_load(SURVIVORS.read_text(encoding="utf-8")) or {} if SURVIVORS.exists() else {}
    survivors = sorted(mutant for mutant in every if known[_key(mutant)] is None)
    for mutant in survivors:
        if mutant.name not in examined:
            print(f"survived: {mutant.path}:{mutant.line}: {mutant.operator}\n  - {mutant.before}\n  + {mutant.after}")
    killed = len(every) - len(survivors)
    score = 100 * killed / len(every)
    print(f"{len(every)} mutants, {killed} killed: {score:.1f} % (bar {BAR}); branches taken {share:.2f} %")
    return int(score < BAR or any(mutant.name not in examined for mutant in survivors))


if __name__ == "__main__":
    sys.exit(main())
