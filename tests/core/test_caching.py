"""A cache that is shared by threads, which all get the same object."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from bomgen.catalog.files import cache_one

THREADS = 8


def test_all_threads_get_the_same_object() -> None:
    """Threads that ask while none has the answer end with one object, which later callers get as well."""
    all_have_asked = Barrier(THREADS)

    @cache_one
    def ask(number: int) -> list[int]:
        all_have_asked.wait(timeout=60)
        return [number]

    with ThreadPoolExecutor(THREADS) as pool:
        answers = list(pool.map(ask, [1] * THREADS))
    assert answers == [[1]] * THREADS
    assert {id(answer) for answer in answers} == {id(ask(1))}
