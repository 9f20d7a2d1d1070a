"""A search from a plan and options to its Pareto front, and the plans of the designs on the front.

The space is evaluated in exact columns, in parts, by this process, several processes or a Dask cluster. A part is an
index range; results of parts can be merged in any order, so the outcome does not depend on which worker evaluates which
part. Rows of the result are read from the columns; the best designs, and those that are written as plans, are also
calculated as `build` does and compared with their columns.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager, nullcontext, suppress
from functools import lru_cache, partial
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from bomgen import __version__
from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.jobs import Lifeline, OutOfTime, process_pool, report_count
from bomgen.core.resources import folder
from bomgen.core.yaml_edit import write_block
from bomgen.plan.search_space import KEY, SOLD, SearchSpace, search_space
from bomgen.pricing.price_book import INDICATIVE
from bomgen.results.designs import (
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
from bomgen.results.front import (
    MAX_FRONT,
    Front,
    FrontTooLarge,
    NextBetter,
    PartialFront,
    best_designs,
    describe_front,
    empty_front,
    extend_front,
    look_for_better,
    merge_fronts,
    merge_next_better,
    no_next_better,
    shown_designs,
)
from bomgen.workflow.design_tables import DesignTables, are_separable
from bomgen.workflow.inputs import Inputs, read_all, source_of
from bomgen.workflow.pipeline import BrokenResult, work_out_variant
from bomgen.workflow.plan_files import STANDARD_INPUT_NAME, PlanFile, content_of, real
from bomgen.workflow.starters import GPU, SERVER, sold_servers

PARTS = 1024
"""Parts of a large space: several per process of a large cluster, for balance and progress reports."""
MAX_DEATHS = 3
"""Consecutive process deaths without a finished part, after which the work itself is taken as the cause."""
TOO_MANY_DEATHS = "processes of the search die again and again; where memory is short, fewer --jobs help"
MAX_ALONE = 100_000
"""Maximum number of designs calculated one by one; more are a mistake or take a night."""
WHOLE_CHUNK = 16
"""Designs calculated in full, or shown, per part: some tenths of a second of work."""


class EngineLost(Exception):
    """The processes or the cluster that evaluate the parts of a search are lost or unusable."""


class SearchRequest(NamedTuple):
    """A search in the form that is sent to workers."""

    file: PlanFile
    settings: tuple[str, ...]
    space: SearchSpace
    digest: str = ""
    """Digest of the program version, the catalogue, and the plan with its files, which a worker must match; empty on
    the same machine."""

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """Return the columns of designs. Raises PlanErrors as `evaluator`, and for amounts too large for a column."""
        try:
            return evaluator_of(self).columns(start, stop, names)
        except OverflowError as error:
            raise self.refusal(f"{error} is more than a search compares; check the prices") from None

    def refusal(self, text: str) -> PlanErrors:
        """Return an error about the search as a whole, at its place."""
        mark = inputs_of(self).source.mark((KEY,))
        return error_at(mark, text, "search", KEY)


@lru_cache(maxsize=1)
def inputs_of(search: SearchRequest) -> Inputs:
    """Return the inputs of the designs of a search, read once per process. Raises PlanErrors."""
    return read_all(search.file._replace(lock=None), search.settings)


@lru_cache(maxsize=1)
def evaluator_of(search: SearchRequest) -> Evaluator:
    """Return the evaluator of a search, opened once per process. Raises PlanErrors for designs not comparable."""
    if not search.space.serves and are_separable(inputs_of(search).source, search.space):
        try:
            tables = DesignTables(inputs_of(search), search.space)
        except MemoryError:
            text = "too many combinations of hardware, or of workloads; use fewer values or ranges with a step"
            raise search.refusal(text) from None
        if tables.knows_servers:
            return tables
    if search.space.size > MAX_ALONE:
        raise search.refusal(
            f"{search.space.size} designs; at most {MAX_ALONE} are calculated one by one, as required if "
            "storage servers are sized for the workload, serving is measured, or a section varies as a whole; "
            "use fewer values"
        )
    return DesignByDesign(search)


class DesignByDesign:
    """Evaluator that calculates every design in full; the reference for other evaluators."""

    chunk = WHOLE_CHUNK

    def __init__(self, search: SearchRequest) -> None:
        self._search = search
        self.size = search.space.size

    def columns(self, start: int, stop: int, names: Collection[str] = UNITS) -> Columns:
        """Return all columns of designs, as every evaluator does."""
        space = self._search.space
        designs = [work_out_design(self._search, index) for index in range(start, stop)]
        currencies = {design.currency for design in designs if design.problem is None} | {space.currency}
        if len(currencies) > 1:
            names = ", ".join(sorted(currencies))
            raise self._search.refusal(f"costs in {names} cannot be compared; quote in one currency")
        return columns_of(start, designs, space.currency)


def work_out_design(search: SearchRequest, index: int) -> SearchedDesign:
    """Return a fully calculated design; a design that cannot be built is a candidate with its problem.

    Raises BrokenResult if a check on a result fails.
    """
    try:
        inputs = inputs_of(search)
        settings = (*search.settings, *search.space.settings(index))
        report = work_out_variant(read_all(inputs.file, settings, earlier=inputs))
        return candidate(index, report, search.space.confidence, search.space.serves)
    except PlanErrors as errors:
        return SearchedDesign(index, {}, problem=errors.first_error)


PartWork = Callable[[range], Any]
"""The work on one part of a space; workers get it pickled."""
Take = Callable[[PartWork, Sequence[range]], Generator[tuple[int, Any]]]
"""A function that has all parts evaluated and yields the number of designs and the result of each, in any order."""


def look_for_front(search: SearchRequest, part: range) -> PartialFront:
    """Return the Pareto front of a part."""
    front = empty_front(search.space)
    for columns in _chunks(search, part):
        front = extend_front(search.space, front, columns)
    return front


def look_for_next(search: SearchRequest, front: PartialFront, part: range) -> NextBetter:
    """Return the designs of a part that would be better than the front but exceed a bound."""
    better = no_next_better(front)
    for columns in _chunks(search, part):
        better = look_for_better(search.space, front, better, columns)
    return better


def show_designs(
    search: SearchRequest, indices: Sequence[int], whole: Collection[int], part: range
) -> list[SearchedDesign]:
    """Return designs read from their columns; a part is a range of their indices.

    Those of `whole` are also calculated as `build` does. Raises BrokenResult if one differs from its columns.
    """
    return [_show(search, index, index in whole) for index in indices[part.start : part.stop]]


def _show(search: SearchRequest, index: int, whole: bool) -> SearchedDesign:
    space, columns = search.space, search.columns(index, index + 1)
    if not whole:
        return candidate_at(columns, 0, space.currency)
    design = work_out_design(search, index)
    for name, value in values_of(design).items():
        column = columns.measures[name][0].item() if columns.known[name][0] else None
        if column != (None if value is None else column_value(name, value, space.currency)):
            settings = ", ".join(space.settings(index))
            raise BrokenResult(f"search: {name} of {settings} is {column} in columns, {value} as a whole")
    return design


def divide(search: SearchRequest) -> list[range]:
    """Return the parts of a search space; in a small space a part is one chunk of the evaluator."""
    chunk, size = evaluator_of(search).chunk, search.space.size
    return _divide(size, chunk * max(1, size // (chunk * PARTS)))


def _divide(size: int, part: int) -> list[range]:
    return [range(at, min(at + part, size)) for at in range(0, size, part)]


def _chunks(search: SearchRequest, part: range) -> Iterator[Columns]:
    chunk, space = evaluator_of(search).chunk, search.space
    names = {*space.minimise, *(bound.measure for bound in space.within)}
    for at in range(part.start, part.stop, chunk):
        yield search.columns(at, min(at + chunk, part.stop), names)


def take_here(work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
    """Evaluate the parts in this process, one after the other."""
    for part in parts:
        yield len(part), work(part)


@contextmanager
def take_in_processes(jobs: int) -> Iterator[Take]:
    """Evaluate parts in a number of processes, which live, with their caches, as long as the context.

    The parts of a process that dies are repeated. Raises EngineLost if the work itself kills processes.
    """
    lifeline = Lifeline()
    pool: Executor = process_pool(jobs, lifeline)

    def take(work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
        nonlocal pool
        left, deaths = set(parts), 0
        while left:
            pending = dict[Future[Any], range]()
            try:
                for part in sorted(left, key=lambda part: part.start):
                    pending[pool.submit(work, part)] = part
                while pending:
                    for future in wait(pending, return_when=FIRST_COMPLETED).done:
                        part = pending.pop(future)
                        result = future.result()
                        left.discard(part)
                        deaths = 0
                        yield len(part), result
            except BrokenProcessPool:
                deaths += 1
                if deaths >= MAX_DEATHS:
                    raise EngineLost(TOO_MANY_DEATHS) from None
                pool = process_pool(jobs, lifeline)
            finally:
                for future in pending:
                    future.cancel()

    try:
        yield take
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        lifeline.cut()


# search cluster -----------------------------------------------------------------------------------------------------
# The parts of a search space on a Dask cluster: index ranges are sent, results of parts come back.
#
# A worker opens plan and catalogue once, and refuses work if its own differ from those of the search. Dask repeats the
# work of a worker that died.

PATIENCE = 10
"""Seconds to wait for a scheduler to answer and to have a worker."""
OWN_ERRORS = (PlanErrors, BrokenResult, FrontTooLarge, EngineLost)
"""Errors of a worker that concern the search, rather than the worker."""


def digest_of(search: SearchRequest) -> str:
    """Return the digest of everything a worker must share: version, catalogue, and the plan with the files it names."""
    catalogue, data = sha256(), folder("data")
    for path in sorted(path for path in data.rglob("*") if path.suffix != ".pyc" and path.is_file()):
        catalogue.update(f"{path.relative_to(data).as_posix()}\n".encode() + sha256(path.read_bytes()).digest())
    digest = sha256(f"{__version__}\n{catalogue.hexdigest()}\n".encode())
    file = search.file
    source = source_of(file, search.settings)
    books = (source.data.get("quote") or {}).get("price_book") or []
    paths = [file.folder / name for name in ([books] if isinstance(books, str) else books) if name != INDICATIVE]
    for name in source.data.get("catalog") or ():
        paths += sorted(path for path in (file.folder / name).rglob("*") if path.is_file())
    for content in (file.content, *(content for _, content in source.files), *map(content_of, paths)):
        digest.update(sha256(content).digest())
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _refuse_other_files(search: SearchRequest) -> None:
    """Raise EngineLost in a worker whose program, catalogue or files differ from those of the search."""
    try:
        same = digest_of(search) == search.digest
    except (OSError, PlanErrors) as error:
        raise EngineLost(f"a worker cannot read the plan's files, which must be where they are here: {error}") from None
    if not same:
        text = "its version, its catalogue or the files that the plan names; install and copy the same everywhere"
        raise EngineLost(f"a worker differs from this machine in {text}")


def take_on_cluster(search: SearchRequest, address: str) -> Take:
    """Return a function that evaluates parts on the cluster of a scheduler.

    Raises EngineLost if Dask is not installed, and, during evaluation, for a cluster that is lost or unusable.
    """
    try:
        import distributed
    except ImportError:
        raise EngineLost("dask is not installed; pip install distributed") from None

    def take(work: PartWork, parts: Sequence[range]) -> Generator[tuple[int, Any]]:
        logging.disable()  # a lost cluster is reported here
        try:
            client = distributed.Client(address, timeout=PATIENCE, set_as_default=False)
        except (OSError, ValueError) as error:
            raise EngineLost(f"no scheduler answers at {address}: {error}") from None
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
            # a separate task, which is repeated if it is lost, and whose result all others use
            sent = client.submit(_given, work, pure=False)
            pending = {client.submit(_take, sent, search, part, pure=False): part for part in parts}
            for future in distributed.as_completed(list(pending), loop=client.loop):
                result = future.result()
                yield len(pending.pop(future)), result  # a worker forgets results that are taken
        except OWN_ERRORS:
            raise
        except Exception as error:
            # Dask's own errors are of any type; one line says which
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


# search ---------------------------------------------------------------------------------------------------------------


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
    catalog = Catalog()
    with suppress(PlanErrors):  # an invalid first design is counted as such
        catalog = read_all(file, settings).catalog
    space = _with_servers(space, catalog)
    if not space.size:
        text = "no server under `over` has one of the GPUs under `over`; add one, or write `sold`"
        raise error_at(source.mark((KEY,)), text, "search", KEY)
    with suppress(PlanErrors):
        source = source_of(file, (*settings, *space.settings(0)))
    quoted = source.data.get("quote") or {}
    currency = str(quoted.get("currency") or catalog.assumption("quote-currency").value)
    return space._replace(currency=currency, confidence=confidence)


def _with_servers(space: SearchSpace, catalog: Catalog) -> SearchSpace:
    """Return the space with servers that have their own GPUs: those of the axis of GPUs, where there is one.

    The value `sold` stands for a server of each GPU that is sold.
    """
    axes = {axis.key: axis for axis in space.axes}
    if SERVER not in axes:
        return space
    sold = [server.id for _, server in sold_servers(catalog)]
    values = chain.from_iterable(sold if value == SOLD else [value] for value in map(str, axes[SERVER].values))
    try:
        gpus = {value: str(catalog.find("server", value).value("gpu")) for value in values}
    except UnknownPart:  # such as a mapping, which has the GPU of the plan
        return space
    if chosen := axes.pop(GPU, None):
        try:
            wanted = {catalog.find("gpu", str(gpu)).id for gpu in chosen.values}
        except UnknownPart as error:
            raise error_at(chosen.mark, str(error), "search", KEY) from None
        gpus = {server: gpu for server, gpu in gpus.items() if gpu in wanted}
    axes[SERVER] = axes[SERVER]._replace(values=tuple(gpus))
    return space._replace(axes=tuple(axes.values()), always=(f"{GPU}=null",))


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
    `search`, `next`, `whole`) is reported through core/jobs.py. `whole`: calculate every design of the front as
    `build` does, not only the best.

    Raises PlanErrors for designs that cannot be compared and for a front that is too long to read; BrokenResult if a
    check on a result fails, or a calculated design differs from its columns.
    """
    search = SearchRequest(file, tuple(settings), space)
    with take_in_processes(jobs) if jobs > 1 else nullcontext(take_here) as local_take:
        return _find_front(search, local_take, scheduler, whole)


def _find_front(
    search: SearchRequest, local_take: Take, scheduler: str | None, whole: bool
) -> tuple[Front, KeyboardInterrupt | EngineLost | OutOfTime | None]:
    """Return the front as `find_front`; `local_take` evaluates the parts that the cluster does not."""
    space, take = search.space, local_take
    front, stopped = empty_front(space), None
    better = no_next_better(front)
    try:
        if scheduler:
            search = search._replace(digest=digest_of(search))
            take = take_on_cluster(search, scheduler)
        try:
            for part in _with_progress(take(partial(look_for_front, search), divide(search)), "search", space.size):
                front = merge_fronts(space, front, part)
        except FrontTooLarge:
            raise search.refusal(
                f"more than {MAX_FRONT} designs are Pareto-optimal; minimise fewer measures, or set bounds"
            ) from None
        better = no_next_better(front)
        if space.within:
            for part in _with_progress(take(partial(look_for_next, search, front), divide(search)), "next", space.size):
                better = merge_next_better(better, part)
    except (KeyboardInterrupt, EngineLost, OutOfTime) as error:
        stopped, better = error, no_next_better(front)
    indices, designs = shown_designs(front, better), dict[int, SearchedDesign]()
    checked = frozenset(front.places.tolist() if whole else best_designs(front))
    show = partial(show_designs, search, indices, checked)
    taken = (take_here if stopped else local_take)(show, _divide(len(indices), WHOLE_CHUNK))
    for candidates in _with_progress(taken, "whole", len(indices)):
        designs.update((candidate.place, candidate) for candidate in candidates)
    return describe_front(space, front, better, designs.__getitem__), stopped


def _with_progress(taken: Generator[tuple[int, Any]], stage: str, size: int) -> Iterator[Any]:
    done = 0
    report_count(stage, done, size)
    with closing(taken):
        for designs, result in taken:
            yield result
            done += designs
            report_count(stage, done, size)


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
        branch = tree
        for step in above:
            branch = branch.setdefault(step, {})
        branch[last] = value
    return (header + "".join(f"{line}\n" for line in write_block(tree))).encode("utf-8")
