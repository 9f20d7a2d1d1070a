"""How far the tests look at the moment: those of every day, and those of `make deep`."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Any, TypeVar

import pytest

Case = TypeVar("Case")
DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
"""Whether tests look as far as `make deep` does; those that are marked `deep` run there alone."""
DEEPER = 60 if DEEP else 1
"""Times that `make deep` looks further than continuous integration, where a law draws its plans itself."""
DAILY = 0.08
"""Share of the usual examples of such a law that are looked at every day."""

VARIED_PLANS = {
    *("deepseek-r1-h20-zh", "gb300-nvl72-xdr", "llama2-7b-chat", "llama3-70b-lora", "llama65b", "llama65b-linkx"),
    *("llama65b-quote", "meta-24k", "qwen3-32b-grpo", "superpod-h100-floor", "training-and-serving"),
}
"""Plans of plans/ whose documents have every chapter, table and mark that those of all have: the others are left to
`make deep` where a test runs for every plan."""
JUDGED_PLANS = VARIED_PLANS - {
    *("llama2-7b-chat", "llama3-70b-lora", "meta-24k", "qwen3-32b-grpo", "training-and-serving"),
}
"""Those of them that outside programs read every day: the files of the others have no other elements."""


def few(cases: Iterable[Case], one_in: int) -> list[Case]:
    """Return one in so many cases of one kind, and for `make deep` all of them."""
    return [*cases][:: 1 if DEEP else one_in]


def examples(usual: int) -> int:
    """Return how many examples a law that usually looks at so many looks at now."""
    return max(2, int(usual * (DEEPER if DEEP else DAILY)))


def shards(count: int) -> list[Any]:
    """Return the numbers of the parts of a long law, all but the first of which are left to continuous integration."""
    return [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, count))]
