"""A mutant put into modules that are loaded already: the functions that changed get their new code."""

from __future__ import annotations

import functools
import gc
import sys
from types import CodeType, FunctionType


def put(path: str, before: str, after: str) -> bool:
    """Give every function of a module the code of its mutant, and forget what was cached; False where that cannot be.

    It cannot be when the mutant changes what is done once, at the import: constants, defaults, fields.
    """
    old, new = (compile(code, path, "exec", dont_inherit=True) for code in (before, after))
    changed: dict[CodeType, CodeType] = {}
    if not _compare(old, new, changed):
        return False
    functions = [each for each in gc.get_objects() if isinstance(each, FunctionType) and each.__code__ in changed]
    if {each.__code__ for each in functions} != set(changed):
        return False
    for function in functions:
        function.__code__ = changed[function.__code__]
    forget()
    return True


def forget() -> None:
    """Forget what the program has cached, so that its functions are called again."""
    for each in gc.get_objects():
        if isinstance(each, functools._lru_cache_wrapper) and not _of_library(each):
            each.cache_clear()


def _compare(old: CodeType, new: CodeType, changed: dict[CodeType, CodeType]) -> bool:
    """Collect the functions that differ; whether nothing differs but bodies of functions."""
    if old.co_code != new.co_code or len(old.co_consts) != len(new.co_consts) or old.co_names != new.co_names:
        return False
    for one, other in zip(old.co_consts, new.co_consts, strict=True):
        if not isinstance(one, CodeType):
            if not (type(one) is type(other) and one == other):
                return False
        elif one != other:
            if _is_class_body(one):
                if not _compare(one, other, changed):
                    return False
            else:
                changed[one] = other
    return True


def _is_class_body(code: CodeType) -> bool:
    return "__module__" in code.co_names and "__qualname__" in code.co_names


def _of_library(cached: object) -> bool:
    """Whether what was cached is no concern of the mutants: it is a library's."""
    module = sys.modules.get(getattr(cached, "__module__", "") or "")
    path = getattr(module, "__file__", "") or ""
    return "site-packages" in path or "/lib/python" in path
