"""A search from a plan and options to its front, and the plans of the front.

The space is looked at in columns, in parts that this process, several, or a cluster take. What is shown is read off
them; the best designs, and those that are written, are worked out whole, as `build` does it, and held against them.
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
from bomgen.documents.search.candidates import SearchedDesign
from bomgen.documents.search.front import (
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
from bomgen.plan.search_space import SearchSpace, search_space
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
    """The search that a plan and options describe. Raises PlanErrors for a wrong plan, search or option."""
    source = source_of(file, settings)
    space = search_space(source, over, minimise, within)
    with suppress(PlanErrors):  # a first design that is wrong is counted as such
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
) -> tuple[Front, KeyboardInterrupt | EngineLost | None]:
    """The front of a space, found in `jobs` processes or by the Dask cluster of a scheduler; and what ended the look.

    KeyboardInterrupt and EngineLost end it: the front is that of the designs looked at until then, and nothing beyond a
    bound is named beside its rows. How far each stage is (`hardware`, `sizing`, `search`, `next`, `whole`) is told by
    core/progress.py. `whole`: work out every design of the front whole, not only the best.

    Raises PlanErrors for designs that cannot be compared and for a front that nobody can read; BrokenResult when a
    check on a result fails, or a design worked out whole differs from its columns.
    """
    search = SearchRequest(file, tuple(settings), space)
    with Processes(jobs) if jobs > 1 else nullcontext(take_here) as own:
        return _find_front(search, own, scheduler, whole)


def _find_front(
    search: SearchRequest, own: Take, scheduler: str | None, whole: bool
) -> tuple[Front, KeyboardInterrupt | EngineLost | None]:
    """The front, as `find_front`; `own` takes what no cluster takes."""
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
                f"more than {MAX_FRONT} designs are Pareto-optimal; minimise fewer measures, or give bounds"
            ) from None
        better = no_next_better(front)
        if space.within:
            for found in _with_progress(take(LookForBetter(search, front), divide(search)), "next", space.size):
                better = merge_next_better(better, found)
    except (KeyboardInterrupt, EngineLost) as error:
        stopped, better = error, no_next_better(front)
    places, found = shown_designs(front, better), dict[int, SearchedDesign]()
    show = ShowDesigns(search, tuple(places), frozenset(front.places.tolist() if whole else best_designs(front)))
    taken = (take_here if stopped else own)(show, show.divide(len(places)))
    for candidates in _with_progress(taken, "whole", len(places)):
        found.update((candidate.place, candidate) for candidate in candidates)
    return describe_front(space, front, better, found.__getitem__), stopped


def _with_progress(taken: Generator[tuple[int, Any]], stage: str, size: int) -> Iterator[Any]:
    """What was found in each part, and how many designs that is by now told."""
    done = 0
    progress.count(stage, done, size)
    with closing(taken):
        for designs, found in taken:
            yield found
            done += designs
            progress.count(stage, done, size)


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
