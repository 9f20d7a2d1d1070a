"""Mutation testing of the pure rooms: `python tests/tools/mutation/run.py` from the top of a checkout.

Mutants are cosmic-ray's; its way of starting pytest anew for each takes three seconds before the first test, so that
`worker.py` forks instead. Workers have copies of the checkout, into which they write each mutant. A mutant is killed
when a test fails or does not end, by a signal that ends its process, and when its module cannot be imported.

What was found is kept in `build/mutation` while module and line are as they were, so that a run that was interrupted
goes on; which tests reach which line, while rooms and tests are as they were. Survivors that were examined stand in
`survivors.yaml` with the reason; one that does not is printed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import pickle
import shutil
import subprocess
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import date
from pathlib import Path

import yaml
from covering import TESTS, Covering, branches, measured
from covering import run as run_covered
from freshness import measured_anew
from mutants import ROOMS, Mutant, modules, mutants
from worker import CONTROL, CONTROL_ANEW, OUTCOMES, SHARE, WITHOUT, Try

from bomgen import __version__

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests")]

from plan_outcomes import KEPT, keep_outcomes  # noqa: E402 - it reads plans with a module of the folder above

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
    "tools",
    "ci",
    "pyproject.toml",
    "README.md",
)
BAR = 90
CONTROL_SECONDS = 100


def main() -> int:
    """Measure, try what is asked for, print the score; 1 when it is under the bar or a survivor was not examined."""
    options = argparse.ArgumentParser(description="Mutation testing of the pure rooms")
    options.add_argument("--only", default="", help="modules whose path contains this")
    options.add_argument("--sample", type=int, default=0, help="as many mutants, drawn with a fixed seed")
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--seconds", type=float, default=60, help="seconds of tests that a mutant must survive")
    options.add_argument("--again", action="store_true", help="try those once more that survived")
    options.add_argument("--keep", action="store_true", help="write the figures of a sample to docs/trust.md too")
    asked = options.parse_args()
    keep_outcomes()
    if not measured_anew(ROOT, BUILD, run_covered):
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
    whole = not (asked.only or asked.sample)
    return _report(every, _outcomes(), share, whole or asked.keep)


def _drawn(only: str, sample: int) -> list[Mutant]:
    """The mutants, in an order that a change of one line leaves as it is for all others."""
    with ProcessPoolExecutor() as pool:
        found = list(pool.map(_of_module, [path for path in modules(ROOT) if only in path]))
    every = sorted((mutant for each in found for mutant in each), key=_draw)
    return every[:sample] if sample else every


def _of_module(path: str) -> list[Mutant]:
    return list(mutants(ROOT, path))


def _draw(mutant: Mutant) -> bytes:
    return hashlib.sha256(f"{mutant.name}\n{mutant.operator} {mutant.occurrence}".encode()).digest()


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
    (copy / KEPT).parent.mkdir(parents=True)
    shutil.copy2(ROOT / KEPT, copy / KEPT)
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


def _report(every: list[Mutant], known: dict[str, str | None], share: float, keep: bool) -> int:
    """Print the score and the survivors that were not examined; 1 when there is one, or the score is under the bar."""
    examined = yaml.safe_load(SURVIVORS.read_text(encoding="utf-8")) or {} if SURVIVORS.exists() else {}
    survivors = sorted(mutant for mutant in every if known[_key(mutant)] is None)
    for mutant in survivors:
        if mutant.name not in examined:
            print(f"survived: {mutant.path}:{mutant.line}: {mutant.operator}\n  - {mutant.before}\n  + {mutant.after}")
    score = 100 * (1 - len(survivors) / len(every))
    if keep:
        text = f"Last run: {date.today().isoformat()}, bomgen {__version__}; branches taken {share:.2f} %.\n\n"
        sys.path.append(str(ROOT / "tests" / "tools"))
        from between import TRUST, filled

        page = filled(TRUST.read_text("utf-8"), "mutation", f"{text}{_table(every, known)}")
        TRUST.write_text(page, encoding="utf-8")
    print(f"{len(every)} mutants: {score:.1f} % killed (bar {BAR}); branches taken {share:.2f} %")
    return int(score < BAR or any(mutant.name not in examined for mutant in survivors))


def _table(every: list[Mutant], known: dict[str, str | None]) -> str:
    """What became of the mutants of each room, as Markdown."""
    rows = [
        "| room | mutants | a test failed | no end | no import, or a signal | survived | killed |",
        "|---|---|---|---|---|---|---|",
    ]
    for room in (*ROOMS, ""):
        ends = Counter(_end(known[_key(mutant)]) for mutant in every if f"/{room}/" in mutant.path or not room)
        tried, survived = ends.total(), ends["survived"]
        counts = (tried, ends["test"], ends["no end"], ends["otherwise"], survived)
        score = f"{100 * (1 - survived / tried):.1f} %" if tried else ""
        name = f"`{room}/`" if room else "together"
        rows.append(f"| {name} | {' | '.join(f'{count:,}' for count in counts)} | {score} |")
    return "\n".join(rows) + "\n"


def _end(killer: str | None) -> str:
    if killer is None:
        return "survived"
    return killer if killer == "no end" else "test" if "::" in killer else "otherwise"


if __name__ == "__main__":
    sys.exit(main())
