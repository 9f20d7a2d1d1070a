"""The designs of a search space, each worked out as `build` does it, without documents and alternatives."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from bomgen.core.diagnostics import PlanErrors
from bomgen.plan.search_space import SearchSpace, search_space
from bomgen.report.search.candidates import Candidate, candidate
from bomgen.report.search.front import Front
from bomgen.workflow.inputs import STANDARD_INPUT_NAME, PlanFile, source_of
from bomgen.workflow.pipeline import work_out_variant
from bomgen.workflow.plan_files import real

CHUNK = 16
"""Designs that a process is given at a time: some tenths of a second of work."""


def open_search(
    file: PlanFile,
    settings: Sequence[str] = (),
    over: Sequence[str] = (),
    minimise: Sequence[str] = (),
    within: Sequence[str] = (),
) -> SearchSpace:
    """The search that a plan and options describe. Raises PlanErrors for a wrong plan, search or option."""
    return search_space(source_of(file, settings), over, minimise, within)


def work_out_designs(file: PlanFile, settings: Sequence[str], space: SearchSpace, jobs: int = 1) -> Iterator[Candidate]:
    """What each design of a space comes to, in the order of the space, with `jobs` processes.

    A design that cannot be built is a candidate with its problem. Raises BrokenResult when a check on a result fails.
    """
    if jobs < 2:
        yield from _work_out(file, settings, space, range(space.size))
        return
    parts = [range(at, min(at + CHUNK, space.size)) for at in range(0, space.size, CHUNK)]
    with ProcessPoolExecutor(jobs, initializer=_leave_interrupts) as pool:
        try:
            for found in pool.map(_Work(file, tuple(settings), space), parts):
                yield from found
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


class _Work:
    """What a process of a search does: the candidates of a part of the space."""

    def __init__(self, file: PlanFile, settings: Sequence[str], space: SearchSpace) -> None:
        self._given = file, settings, space

    def __call__(self, part: range) -> list[Candidate]:
        return list(_work_out(*self._given, part))


def _work_out(file: PlanFile, settings: Sequence[str], space: SearchSpace, part: Sequence[int]) -> Iterator[Candidate]:
    for index in part:
        try:
            yield candidate(index, work_out_variant(file, (*settings, *space.settings(index))))
        except PlanErrors as errors:
            yield Candidate(index, {}, problem=next(each for each in errors.problems if each.severity == "error"))


def _leave_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the first one decides what becomes of the others."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def front_plans(front: Front, file: PlanFile, settings: Sequence[str], folder: Path) -> dict[str, bytes]:
    """The designs of a front as plans of a folder, by file name: each extends the plan of the search and sets its keys.

    Raises ValueError for a plan that no file can extend: from standard input, or outside its folder tree.
    """
    if file.name == STANDARD_INPUT_NAME:
        raise ValueError("a plan from standard input cannot be extended; save it to a file")
    if not real(folder).is_relative_to(file.root):
        raise ValueError(f"{folder} is outside the plan's folder tree; name a folder below {file.root}, or use --root")
    base = os.path.relpath(file.folder / Path(file.name).name, real(folder)).replace(os.sep, "/")
    name = source_of(file, settings).data["name"]
    digits = len(str(len(front.rows)))
    return {
        f"{name}-{number:0{digits}}.yaml": _extending(f"{name}-{number}", base, (*settings, *front.space.settings(at)))
        for number, at in enumerate((row.candidate.place for row in front.rows), 1)
    }


def _extending(name: str, base: str, settings: Sequence[str]) -> bytes:
    """A plan that extends another one and differs from it by settings."""
    header = f"bomgen: 1\nname: {name}\nextends: {json.dumps(base, ensure_ascii=False)}\n"
    tree: dict[str, Any] = {}
    for setting in settings:
        key, _, value = setting.partition("=")
        *above, last = key.split(".")
        place = tree
        for step in above:
            place = place.setdefault(step, {})
        place[last] = value
    return (header + "".join(_lines(tree, 0))).encode("utf-8")


def _lines(tree: Mapping[str, Any], depth: int) -> Iterator[str]:
    """A tree of keys as lines of YAML; the values are YAML already."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{'  ' * depth}{key}:\n"
            yield from _lines(value, depth + 1)
        else:
            yield f"{'  ' * depth}{key}: {value}\n"
