"""How far the laws look at the moment."""

from __future__ import annotations

import os
from typing import Any

import pytest

DEEPER = 60 if os.environ.get("HYPOTHESIS_PROFILE") == "deep" else 1
"""Times that `make deep` looks further than continuous integration, where a law draws its plans itself."""
DAILY = 0.3
"""Share of the usual examples of such a law that are looked at every day."""


def examples(usual: int) -> int:
    """Return how many examples a law that usually looks at so many looks at now."""
    return max(2, int(usual * (DEEPER if DEEPER > 1 else DAILY)))


def shards(count: int) -> list[Any]:
    """Return the numbers of the parts of a long law, all but the first of which are left to continuous integration."""
    return [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, count))]
