"""How far the laws look at the moment."""

from __future__ import annotations

from hypothesis import settings

DEEPER = max(1, settings().max_examples // 50)
"""Times that `make deep` looks further than every day."""
