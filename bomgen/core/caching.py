"""A cache that returns the same object to every thread.

`functools.cache` calls the function in every thread that asks before the first result is stored, and each thread keeps
its own result. That is enough for values that compare equal. Figures are equal only when they are the same object, and
so are the records and parts that hold them: a thread that met two would count one module as two kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TypeVar, TypeVarTuple

Arguments = TypeVarTuple("Arguments")
Kept = TypeVar("Kept")


def cache_one(function: Callable[[*Arguments], Kept]) -> Callable[[*Arguments], Kept]:
    """Return a function that gives every caller the first value cached for its arguments, all positional."""
    kept = dict[tuple[*Arguments], Kept]()

    @wraps(function)
    def ask(*arguments: *Arguments) -> Kept:
        if arguments not in kept:
            # `setdefault` is atomic for other threads. A lock would have to be held while modules are imported.
            kept.setdefault(arguments, function(*arguments))
        return kept[arguments]

    return ask
