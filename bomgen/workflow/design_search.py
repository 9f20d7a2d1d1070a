"""A search from a plan and options to its Pareto front, and the plans of the designs on the front.

The space is evaluated in exact columns, in parts, by this process, several processes or a cluster. Rows of the result
are read from the columns; the best designs, and those that are written as plans, are also calculated as `build` does
and compared with their columns.
"""

from __future__ import annotations

import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

from bomgen.catalog.files import Catalog
from bomgen.core import progress
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.limits import OutOfTime
from bomgen.plan.search_space import SearchSpace, search_space
from bomgen.results.designs import SearchedDesign
from bomgen.results.front import (
    MAX_FRONT,
    Front,
    FrontTooLarge,
    best_designs,
    describe_front,
    empty_front,
    merge_fronts,
    merge_next_better,
    no_next_better,
    shown_designs,
)
from bomgen.workflow.inputs import source_of
from bomgen.workflow.plan_files import STANDARD_INPUT_NAME, PlanFile, real
from bomgen.workflow.search_parts import (
    EngineLost,
    LookForBetter,
    LookForFront,
    Processes,
    SearchRequest,
    ShowDesigns,
    Take,
    divide,
    take_here,
)

__all__ = ["EngineLost", "find_front", "front_plans", "open_search"]


def open_search(
    file: PlanFile,
    settings: Sequence[str] = (),
    over: Sequence[str] = (),
    minimise: Sequence[str] = (),
    within: Sequence[str] = (),
    confidence: int | None = None,
) -> SearchSpace:
    """Return the search that a plan and options describe. Raises PlanErrors for an invalid plan, search or option."""
    source = source_of(file, settings)
    space = search_space(source, over, minimise, within)
    with suppress(PlanErrors):  # an invalid first design is counted as such
        source = source_of(file, (*settings, *space.settings(0)))
    quoted = source.data.get("quote") or {}
    currency = str(quoted.get("currency") or Catalog().assumption("quote-currency").value)
    return space._replace(currency=currency, confidence=confidence)


def find_front(
    file: PlanFile,
    settings: Sequence[str],
    space: SearchSpace,
    jobs: int = 1,
    scheduler: str | None = None,
    whole: bool = False,
) -> tuple[Front, KeyboardInterrupt | EngineLost | OutOfTime | None]:
    """Return the Pareto front of a space and what ended the search, from `jobs` processes or a Dask cluster.

    KeyboardInterrupt, EngineLost and OutOfTime end the search: the front is then that of the designs evaluated so far,
    and designs beyond a bound are not listed beside its rows. The progress of each stage (`hardware`, `sizing`,
    `search`, `next`, `whole`) is reported through core/progress.py. `whole`: calculate every design of the front as
    `build` does, not only the best.

    Raises PlanErrors for designs that cannot be compared and for a front that is too long to read; BrokenResult if a
    check on a result fails, or a calculated design differs from its columns.
    """
    search = SearchRequest(file, tuple(settings), space)
    with Processes(jobs) if jobs > 1 else nullcontext(take_here) as own:
        return _find_front(search, own, scheduler, whole)


def _find_front(
    search: SearchRequest, own: Take, scheduler: str | None, whole: bool
) -> tuple[Front, KeyboardInterrupt | EngineLost | OutOfTime | None]:
    """Return the front as `find_front`; `own` takes the parts that the cluster does not take."""
    space, take = search.space, own
    front, stopped = empty_front(space), None
    better = no_next_better(front)
    try:
        if scheduler:
            from bomgen.workflow.search_parts import digest_of, take_on_cluster

            search = search._replace(digest=digest_of(search))
            take = take_on_cluster(search, scheduler)
        try:
            for part in _with_progress(take(LookForFront(search), divide(search)), "search", space.size):
                front = merge_fronts(space, front, part)
        except FrontTooLarge:
            raise search.refusal(
                f"more than {MAX_FRONT} designs are Pareto-optimal; minimise fewer measures, or set bounds"
            ) from None
        better = no_next_better(front)
        if space.within:
            for found in _with_progress(take(LookForBetter(search, front), divide(search)), "next", space.size):
                better = merge_next_better(better, found)
    except (KeyboardInterrupt, EngineLost, OutOfTime) as error:
        stopped, better = error, no_next_better(front)
    places, found = shown_designs(front, better), dict[int, SearchedDesign]()
    show = ShowDesigns(search, tuple(places), frozenset(front.places.tolist() if whole else best_designs(front)))
    taken = (take_here if stopped else own)(show, show.divide(len(places)))
    for candidates in _with_progress(taken, "whole", len(places)):
        found.update((candidate.place, candidate) for candidate in candidates)
    return describe_front(space, front, better, found.__getitem__), stopped


def _with_progress(taken: Generator[tuple[int, Any]], stage: str, size: int) -> Iterator[Any]:
    """Yield the results of each part, and report how many designs have been evaluated."""
    done = 0
    progress.count(stage, done, size)
    with closing(taken):
        for designs, found in taken:
            yield found
            done += designs
            progress.count(stage, done, size)


def front_plans(front: Front, file: PlanFile, settings: Sequence[str], folder: Path) -> dict[str, bytes]:
    """Return the designs of a front as plan files by file name; each extends the plan of the search and sets its keys.

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
    """Yield the lines of YAML for a tree of keys whose values are YAML already."""
    for key, value in tree.items():
        if isinstance(value, dict):
            yield f"{'  ' * depth}{key}:\n"
            yield from _lines(value, depth + 1)
        else:
            yield f"{'  ' * depth}{key}: {value}\n"
