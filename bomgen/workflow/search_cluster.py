"""The parts of a search space on a Dask cluster: index ranges go out, partial results come back and merge in a tree.

A worker opens plan and catalogue once, and refuses work where its own are not those of the search. What a worker that
died was at, Dask repeats.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Sequence
from functools import lru_cache, reduce
from hashlib import sha256
from typing import Any

from bomgen import __version__
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.resources import folder
from bomgen.documents.search.front import FrontTooLarge
from bomgen.workflow.inputs import source_of
from bomgen.workflow.plan_files import content_of
from bomgen.workflow.search_parts import EngineLost, PartWork, Search, Take
from bomgen.workflow.stages import BrokenResult

TOGETHER = 16
"""Parts whose results are merged on a worker before they are sent."""
PATIENCE = 10
"""Seconds to wait for a scheduler to answer, and for it to have a worker."""
OWN_ERRORS = (PlanErrors, BrokenResult, FrontTooLarge, EngineLost)
"""What a worker says of a search, rather than of itself."""


def digest_of(search: Search) -> str:
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
def _refuse_other_files(search: Search) -> None:
    """Raise EngineLost in a worker whose program, catalogue or files are not those of the search."""
    try:
        same = digest_of(search) == search.digest
    except (OSError, PlanErrors) as error:
        raise EngineLost(f"a worker cannot read the plan's files, which must be where they are here: {error}") from None
    if not same:
        text = "its version, its catalogue or the files that the plan names; install and copy the same everywhere"
        raise EngineLost(f"a worker differs from this machine in {text}")


def take_on_cluster(search: Search, address: str) -> Take:
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


def _take(work: PartWork, search: Search, part: range) -> Any:
    _refuse_other_files(search)
    return work(part)


def _merge(work: PartWork, found: Sequence[Any]) -> Any:
    return reduce(work.merge, found)
