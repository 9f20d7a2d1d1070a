"""A pytest plugin that, instead of running the tests, gives each mutant of its share to those that reach it.

Tests are collected once. Each mutant has a process of its own, forked from the one that collected: there the changed
functions get their new code, and the tests run until one fails. A mutant of what is done at the import cannot be put
in so; its tests run in a new interpreter over the changed file.

A kill has the name of the test that failed, or says how else the process ended: a signal, no end, no import. A process
that ends in another way has shown nothing about the mutant, and the mutant counts as a survivor.
"""

from __future__ import annotations

import json
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from tempfile import TemporaryFile
from typing import NamedTuple, NoReturn, TextIO

import pytest
from _pytest.runner import runtestprotocol
from covering import DECLARED
from in_memory import put

SHARE, OUTCOMES, ANEW = "MUTANTS_SHARE", "MUTANTS_OUTCOMES", "MUTANTS_ANEW"
TIMES_SLOWER, MORE_SECONDS = 5, 20
MEMORY = 6 << 30
BROKEN = 70
"""Exit code of a child whose tests could not be run."""
WITHOUT = ("-p", "no:cacheprovider", "-p", "no:xdist")
CONTROL, CONTROL_ANEW = "nothing was changed", "nothing was changed, in a new interpreter"
# What a test is hoped to kill before it is known: results and laws judge numbers, transcripts words. Those of what
# modules declare come first: no other sees a mutant of that, however quick.
WORTH = {
    DECLARED: 200.0,
    **{"tests/tools": 2.0, "tests/laws": 1.0, "tests/reference": 1.0, "tests/errors": 0.05, "tests": 0.5},
}
COST = 0.05


class Try(NamedTuple):
    """A mutant with the tests that reach it, and for how many seconds it is tried."""

    key: str
    path: str
    code: str
    tests: list[str]
    seconds: float


class Order:
    """Which test comes first: the one that kills most in a second, as far as is known by now."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.kills = seconds, Counter[str]()

    def __call__(self, test: str) -> float:
        """A number that sorts tests, best first."""
        hoped = next(worth for start, worth in WORTH.items() if test.startswith(start))
        return -(self.kills[test] + hoped) / (self.seconds.get(test, 1) + COST)

    def learn(self, lines: list[str]) -> str | None:
        """Take in what a child said of its tests; the one that failed."""
        killer = None
        for line in lines:
            test, seconds, failed = json.loads(line)
            self.seconds[test] = seconds
            if failed:
                killer = test
                self.kills[test] += 1
        return killer


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Try every mutant of the share; the modules as they are come first, in both ways, and must pass."""
    items = {item.nodeid: item for item in session.items}
    if ANEW in os.environ:
        said, seconds, names = json.loads(os.environ[ANEW])
        named = [items[name] for name in Path(names).read_text(encoding="utf-8").splitlines() if name in items]
        _judge(named, time.monotonic() + seconds, os.fdopen(said, "w", encoding="utf-8"))
    seconds, tries = pickle.loads(Path(os.environ[SHARE]).read_bytes())  # noqa: S301 - written by run.py
    order = Order(seconds)
    with Path(os.environ[OUTCOMES]).open("a", encoding="utf-8") as outcomes:
        for one in tries:
            killer = _tried(one, items, order)
            if killer and one.key in (CONTROL, CONTROL_ANEW):
                raise pytest.UsageError(f"{killer}: {one.key}")
            print(json.dumps([one.key, killer]), file=outcomes, flush=True)
    return True


def _tried(one: Try, items: dict[str, pytest.Item], order: Order) -> str | None:
    """The test that killed a mutant, or how else it ended; None when it survived."""
    place = Path(one.path)
    before, times = place.read_text(encoding="utf-8"), place.stat()
    place.write_text(one.code, encoding="utf-8")
    tests = sorted((test for test in one.tests if test in items), key=order)
    with TemporaryFile("w+", encoding="utf-8") as said:
        child = os.fork()
        if not child:
            _run(one, before, [items[test] for test in tests], said)
        ended = _ended(child, time.monotonic() + TIMES_SLOWER * one.seconds + MORE_SECONDS)
        said.seek(0)
        killer = order.learn(said.read().splitlines()) or _otherwise(one, ended)
    place.write_text(before, encoding="utf-8")
    os.utime(place, ns=(times.st_atime_ns, times.st_mtime_ns))
    return killer


def _ended(child: int, until: float) -> int | None:
    """The exit code of a child, minus the number of the signal that ended it; None where it had to be ended."""
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


def _otherwise(one: Try, ended: int | None) -> str | None:
    """How a child ended that names no test which failed; None where that shows nothing about the mutant."""
    if ended is None:
        return "no end"
    if ended < 0:
        return f"signal {-ended}"
    if ended and one.key in (CONTROL, CONTROL_ANEW):
        return f"exit code {ended}"
    module = ".".join(Path(one.path).with_suffix("").parts)
    imports = not ended or not subprocess.run([sys.executable, "-c", f"import {module}"], check=False).returncode
    return None if imports else "no import"


def _run(one: Try, before: str, tests: list[pytest.Item], said: TextIO) -> None:
    """Run tests until one fails or the time is over, in this process, which was forked for it."""
    os.setpgrp()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)
    until = time.monotonic() + one.seconds
    try:
        if one.key == CONTROL_ANEW or not put(str(Path(one.path).resolve()), before, one.code):
            os.set_inheritable(said.fileno(), True)
            names = Path(os.environ[OUTCOMES]).with_suffix(".tests")
            names.write_text("".join(f"{test.nodeid}\n" for test in tests), encoding="utf-8")
            os.environ[ANEW] = json.dumps([said.fileno(), one.seconds, str(names)])
            # Their files are named, not they: pytest takes minutes to find a thousand tests one by one.
            files = dict.fromkeys(test.nodeid.partition("::")[0] for test in tests)
            os.execv(sys.executable, [sys.executable, "-m", "pytest", "-p", "worker", *WITHOUT, *files])  # noqa: S606
        _judge(tests, until, said)
    finally:
        os._exit(BROKEN)


def _judge(tests: list[pytest.Item], until: float, said: TextIO) -> NoReturn:
    """Run tests until one fails or the time is over, say what came of each, and end this process."""
    for item, following in zip(tests, [*tests[1:], None], strict=True):
        reports = runtestprotocol(item, log=False, nextitem=following)
        failed = any(report.failed for report in reports)
        print(json.dumps([item.nodeid, sum(report.duration for report in reports), failed]), file=said, flush=True)
        if failed or time.monotonic() > until:
            break
    os._exit(0)
