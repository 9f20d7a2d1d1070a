"""The parts of a search space, and who takes them: this process, several, or a Dask cluster.

A part is an index range. What is found in the parts is merged in any order, so nothing depends on who takes which.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from functools import lru_cache, reduce
from hashlib import sha256
from typing import Any, NamedTuple, Protocol

from bomgen import __version__
from bomgen.core.children import Lifeline, process_pool
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.resources import folder
from bomgen.documents.search.candidates import (
    UNITS,
    Columns,
    Evaluator,
    SearchedDesign,
    candidate,
    candidate_at,
    column_value,
    columns_of,
    values_of,
)
from bomgen.documents.search.front import (
    FrontTooLarge,
    NextBetter,
    PartialFront,
    empty_front,
    extend_front,
    look_for_better,
    merge_fronts,
    merge_next_better,
    no_next_better,
)
from bomgen.plan.search_space import KEY, SearchSpace
from bomgen.workflow.design_tables import DesignTables, are_separable
from bomgen.workflow.inputs import Inputs, read_all, source_of
from bomgen.workflow.pipeline import work_out_variant
from bomgen.workflow.plan_files import PlanFile, content_of
from bomgen.workflow.stages import BrokenResult

PARTS = 1024
"""Parts that a large space is divided into: several for each process of a large cluster, and for a progress line."""
MAX_DEATHS = 3
"""Deaths of processes after which nothing was finished in between: then it is the work that kills them."""
TOO_MANY_DEATHS = "processes of the search die again and again; where memory is short, fewer --jobs help"
MAX_ALONE = 100_000
"""Designs that are worked out one by one: more than so many are a mistake, or a night's work."""
WHOLE_CHUNK = 16
"""Designs that are worked out whole, or shown, at a time: some tenths of a second of work."""


class EngineLost(Exception):
    """The processes or the cluster that took the parts of a search are gone, or cannot be used."""


class SearchRequest(NamedTuple):
    """A search as it is sent to whoever takes a part."""

    file: PlanFile
    settings: tuple[str, ...]
    space: SearchSpace
    digest: str = ""
    """Of the program's version, its catalogue and the plan with its files, which who takes a part must have; empty:
    it is the same machine."""

    def inputs(self) -> Inputs:
        """What the designs are worked out from: read once in a process. Raises PlanErrors."""
        return _inputs(self)

    def evaluator(self) -> Evaluator:
        """Who works the designs of the search out as columns: opened once in a process.

        Raises PlanErrors for a search whose designs cannot be compared.
        """
        return _evaluator(self)

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """What designs come to, by the evaluator. Raises PlanErrors as that, and for amounts that no column holds."""
        try:
            return self.evaluator().columns(start, stop, names)
        except OverflowError as error:
            raise self.refusal(f"{error} is more than a search compares; check the prices") from None

    def refusal(self, text: str) -> PlanErrors:
        """What is wrong with the search as a whole, at its place."""
        mark = self.inputs().source.mark((KEY,))
        return PlanErrors([Problem(mark, "error", text, "search", KEY)])


@lru_cache(maxsize=1)
def _inputs(search: SearchRequest) -> Inputs:
    return read_all(search.file._replace(lock=None), search.settings)


@lru_cache(maxsize=1)
def _evaluator(search: SearchRequest) -> Evaluator:
    if are_separable(search.inputs().source, search.space):
        try:
            tables = DesignTables(search.inputs(), search.space)
        except MemoryError:
            text = "too many combinations of hardware, or of workloads; give fewer values or ranges with a step"
            raise search.refusal(text) from None
        if tables.knows_servers:
            return tables
    if search.space.size > MAX_ALONE:
        raise search.refusal(
            f"{search.space.size} designs; at most {MAX_ALONE} are worked out one by one, as they must be where "
            "storage servers are sized for the workload, or a section varies as a whole; give fewer values"
        )
    return DesignByDesign(search)


class DesignByDesign:
    """Works every design out whole: what other evaluators are judged by."""

    chunk = WHOLE_CHUNK

    def __init__(self, search: SearchRequest) -> None:
        self._search = search
        self.size = search.space.size

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """What designs come to, as every evaluator gives it: every column of them."""
        space = self._search.space
        found = [work_out_design(self._search, place) for place in range(start, stop)]
        currencies = {each.currency for each in found if each.problem is None} | {space.currency}
        if len(currencies) > 1:
            names = ", ".join(sorted(currencies))
            raise self._search.refusal(f"costs in {names} cannot be compared; quote in one currency")
        return columns_of(start, found, space.currency)


def work_out_design(search: SearchRequest, place: int) -> SearchedDesign:
    """A design worked out whole; one that cannot be built is a candidate with its problem.

    Raises BrokenResult when a check on a result fails.
    """
    try:
        inputs = search.inputs()
        settings = (*search.settings, *search.space.settings(place))
        report = work_out_variant(read_all(inputs.file, settings, known=inputs))
        return candidate(place, report, search.space.confidence)
    except PlanErrors as errors:
        return SearchedDesign(place, {}, problem=errors.first_error)


class PartWork(Protocol):
    """What is done with a part of a space; it is sent to whoever takes the part."""

    def __call__(self, part: range) -> Any:
        """What is found in a part."""

    def merge(self, one: Any, other: Any) -> Any:
        """What is found in two parts, whatever the order."""


Take = Callable[[PartWork, Sequence[range]], Generator[tuple[int, Any]]]
"""Has all parts taken: how many designs, and what was found in them, in any order, as it comes."""


class LookForFront(NamedTuple):
    """Find the front of a part."""

    search: SearchRequest

    def __call__(self, part: range) -> PartialFront:
        """The front of a part."""
        space = self.search.space
        front = empty_front(space)
        for columns in _chunks(self.search, part):
            front = extend_front(space, front, columns)
        return front

    def merge(self, one: PartialFront, partial_front: PartialFront) -> PartialFront:
        """The front of two parts."""
        return merge_fronts(self.search.space, one, partial_front)


class LookForBetter(NamedTuple):
    """Find what would be better than designs of the front in a part, and breaks a bound."""

    search: SearchRequest
    front: PartialFront

    def __call__(self, part: range) -> NextBetter:
        """What is found in a part."""
        space = self.search.space
        found = no_next_better(self.front)
        for columns in _chunks(self.search, part):
            found = look_for_better(space, self.front, found, columns)
        return found

    def merge(self, one: NextBetter, next_better: NextBetter) -> NextBetter:
        """What is found in two parts."""
        return merge_next_better(one, next_better)


class ShowDesigns(NamedTuple):
    """Read designs off their columns to show them: a part is a range of their list."""

    search: SearchRequest
    places: tuple[int, ...]
    whole: frozenset[int]
    """Those that are worked out whole, as `build` does it, and held against their columns."""

    def __call__(self, part: range) -> list[SearchedDesign]:
        """Return the designs of a part of the list. Raises BrokenResult where one differs as a whole."""
        return [self._show(self.places[at]) for at in part]

    def _show(self, place: int) -> SearchedDesign:
        space, columns = self.search.space, self.search.columns(place, place + 1)
        if place not in self.whole:
            return candidate_at(columns, 0, space.currency)
        design = work_out_design(self.search, place)
        for name, value in values_of(design).items():
            column = columns.measures[name][0].item() if columns.known[name][0] else None
            if column != (None if value is None else column_value(name, value, space.currency)):
                settings = ", ".join(space.settings(place))
                raise BrokenResult(f"search: {name} of {settings} is {column} in columns, {value} as a whole")
        return design

    def merge(self, one: list[SearchedDesign], searched_designs: list[SearchedDesign]) -> list[SearchedDesign]:
        """The designs of two parts."""
        return one + searched_designs

    @staticmethod
    def divide(count: int) -> list[range]:
        """A list of so many designs in parts."""
        return _divide(count, WHOLE_CHUNK)


def divide(search: SearchRequest) -> list[range]:
    """The space of a search in parts: of a small one a chunk of the evaluator each."""
    chunk, size = search.evaluator().chunk, search.space.size
    return _divide(size, chunk * max(1, size // (chunk * PARTS)))


def _divide(size: int, part: int) -> list[range]:
    return [range(at, min(at + part, size)) for at in range(0, size, part)]


def _chunks(search: SearchRequest, part: range) -> Iterator[Columns]:
    chunk, space = search.evaluator().chunk, search.space
    names = {*space.minimise, *(bound.measure for bound in space.within)}
    for at in range(part.start, part.stop, chunk):
        yield search.columns(at, min(at + chunk, part.stop), names)


def take_here(work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
    """Take the parts one behind the other."""
    for part in parts:
        yield len(part), work(part)


class Processes:
    """Takes parts in so many processes, which last, with what they have opened, as long as the context.

    A process that dies costs the parts that were in work, which are repeated. Raises EngineLost where processes die of
    the work.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._lifeline = Lifeline()
        self._pool = self._start()

    def _start(self) -> Executor:
        return process_pool(self._jobs, self._lifeline)

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)
        self._lifeline.cut()

    def __call__(self, work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
        """Have all parts taken."""
        left, deaths = set(parts), 0
        while left:
            pending = dict[Future[Any], range]()
            try:
                for part in sorted(left, key=lambda part: part.start):
                    pending[self._pool.submit(work, part)] = part
                while pending:
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        part = pending.pop(future)
                        found = future.result()
                        left.discard(part)
                        deaths = 0
                        yield len(part), found
            except BrokenProcessPool:
                deaths += 1
                if deaths >= MAX_DEATHS:
                    raise EngineLost(TOO_MANY_DEATHS) from None
                self._pool = self._start()
            finally:
                for future in pending:
                    future.cancel()


# search cluster -----------------------------------------------------------------------------------------------------
# The parts of a search space on a Dask cluster: index ranges go out, partial results come back and merge in a tree.
#
# A worker opens plan and catalogue once, and refuses work where its own are not those of the search. What a worker that
# died was at, Dask repeats.

TOGETHER = 16
"""Parts whose results are merged on a worker before they are sent."""
PATIENCE = 10
"""Seconds to wait for a scheduler to answer, and for it to have a worker."""
OWN_ERRORS = (PlanErrors, BrokenResult, FrontTooLarge, EngineLost)
"""What a worker says of a search, rather than of itself."""


def digest_of(search: SearchRequest) -> str:
    """The digest of what a worker must have as it is here: version, catalogue, and the plan with the files it names."""
    found = sha256(f"{__version__}\n{_digest_of_catalogue()}\n".encode())
    file = search.file
    source = source_of(file, search.settings)
    books = (source.data.get("quote") or {}).get("price_book") or []
    paths = [file.folder / name for name in ([books] if isinstance(books, str) else books)]
    for name in source.data.get("catalog") or ():
        paths += sorted(path for path in (file.folder / name).rglob("*") if path.is_file())
    for content in (file.content, *(content for _, content in source.files), *map(content_of, paths)):
        found.update(sha256(content).digest())
    return found.hexdigest()


def _digest_of_catalogue() -> str:
    found = sha256()
    data = folder("data")
    for path in sorted(path for path in data.rglob("*") if path.suffix != ".pyc" and path.is_file()):
        found.update(f"{path.relative_to(data).as_posix()}\n".encode() + sha256(path.read_bytes()).digest())
    return found.hexdigest()


@lru_cache(maxsize=1)
def _refuse_other_files(search: SearchRequest) -> None:
    """Raise EngineLost in a worker whose program, catalogue or files are not those of the search."""
    try:
        same = digest_of(search) == search.digest
    except (OSError, PlanErrors) as error:
        raise EngineLost(f"a worker cannot read the plan's files, which must be where they are here: {error}") from None
    if not same:
        text = "its version, its catalogue or the files that the plan names; install and copy the same everywhere"
        raise EngineLost(f"a worker differs from this machine in {text}")


def take_on_cluster(search: SearchRequest, address: str) -> Take:
    """Who takes parts on the cluster of a scheduler.

    Raises EngineLost where Dask is not installed, and, when parts are taken, for a cluster that is lost or of no use.
    """
    try:
        import distributed
    except ImportError:
        raise EngineLost("dask is not installed; install the extra bomgen[cluster]") from None

    def take(work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
        logging.disable()  # what is to be said of a lost cluster is said here
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineLost(f"no scheduler answers at {address}: {error}") from None
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
            # a task of its own, which is repeated where it is lost, and which all others take it from
            sent = client.submit(_given, work, pure=False)
            merged = {}
            for at in range(0, len(parts), TOGETHER):
                group = parts[at : at + TOGETHER]
                found = [client.submit(_take, sent, search, part, pure=False) for part in group]
                merged[client.submit(_merge, sent, found, pure=False)] = sum(map(len, group))
                del found  # a worker forgets what is merged
            for future in distributed.as_completed(list(merged), loop=client.loop):
                result = future.result()
                yield merged.pop(future), result
        except OWN_ERRORS:
            raise
        except Exception as error:
            # of whatever kind Dask's own errors are; one line says which
            reason = getattr(error, "reason", None) or str(error).partition("\n")[0] or type(error).__name__
            raise EngineLost(f"the cluster of {address} is lost: {reason}") from error
        finally:
            client.close(timeout=1)

    return take


def _given(work: PartWork) -> PartWork:
    return work


def _take(work: PartWork, search: SearchRequest, part: range) -> Any:
    _refuse_other_files(search)
    return work(part)


def _merge(work: PartWork, found: Sequence[Any]) -> Any:
    return reduce(work.merge, found)
