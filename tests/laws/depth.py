"""How far the laws look at the moment."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

USUAL = 50
"""Examples of a law in continuous integration (tests/conftest.py): a user's run looks at fewer, `make deep` at more."""
DEEPER = max(1, settings().max_examples // USUAL)
"""Times that `make deep` looks further than continuous integration."""


def examples(usual: int) -> int:
    """Return how many examples a law that usually looks at so many looks at now."""
    return max(2, usual * settings().max_examples // USUAL)


def shards(count: int) -> list[Any]:
    """Return the numbers of the parts of a long law, all but the first of which are left to continuous integration."""
    return [0, *(pytest.param(number, marks=pytest.mark.long) for number in range(1, count))]
