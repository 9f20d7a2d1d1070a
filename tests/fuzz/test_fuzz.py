"""Every input of the corpora, and every one that once broke a target, is run again; then each target looks on."""

from __future__ import annotations

import importlib
import subprocess
from pathlib import Path
from types import ModuleType

import pytest
from hunt import HERE, TARGETS, command, corpus, found, write_inputs
from judging import Judge

RUNS = {"source": 500, "quantities": 1000, "books": 100, "templates": 50, "bind": 5}
"""Executions of a target each time: less than a second beside the start."""
BEGUN_WITH = 12
"""Inputs of the corpus that these begin with; all of them are run by another test."""
SEED = 1
"""The same inputs each time; `make deep` looks at others."""


def target(name: str) -> ModuleType:
    """The module of a target."""
    return importlib.import_module(f"fuzz_{name}")


FOUND = {f"{name}-{wrong}": (name, content) for name in TARGETS for wrong, content in found(name).items()}


@pytest.mark.parametrize(("name", "content"), FOUND.values(), ids=FOUND)
def test_what_was_found_stays_mended(name: str, content: bytes) -> None:
    """An input that once raised what it should not, or broke a rule, does so no more."""
    target(name).run(content)


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_holds(name: str) -> None:
    """The inputs that reach the most of a target break nothing. No fuzzer is needed."""
    inputs = corpus(name)
    assert inputs
    for number, content in enumerate(inputs):
        try:
            target(name).run(content)
        except Exception as error:
            raise AssertionError(f"input {number} of the corpus breaks {name}") from error


def test_the_corpora_are_small() -> None:
    """All of them together have less than a megabyte, and no target more inputs than a test can run."""
    assert sum(len(content) for name in TARGETS for content in corpus(name)) < 1 << 20
    assert all(len(corpus(name)) <= 200 for name in TARGETS)


@pytest.mark.deep
@pytest.mark.parametrize("name", TARGETS)
def test_a_few_more_executions_break_nothing(name: str, tmp_path: Path, judge: Judge) -> None:
    """Each target for a fixed number of executions from its corpus, with a fixed seed."""
    judge("python:atheris")  # there is none but for Linux on x86-64
    options = (f"-runs={RUNS[name]}", f"-seed={SEED}", f"-artifact_prefix={tmp_path}/")
    inputs = tmp_path / "inputs"
    write_inputs(corpus(name)[:BEGUN_WITH], inputs)
    line = command(name, tmp_path, *options, str(inputs))
    done = subprocess.run(line, capture_output=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")[-3000:]


def test_every_target_is_there() -> None:
    """The table of targets names every module of one."""
    assert sorted(TARGETS) == sorted(path.stem.removeprefix("fuzz_") for path in HERE.glob("fuzz_*.py"))
