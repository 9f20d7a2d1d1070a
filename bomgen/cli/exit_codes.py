"""The exit codes of the command, as the documentation promises them."""

from __future__ import annotations

WRONG_PLAN, WRONG_USAGE, NOT_WRITTEN, PASSED, INTERRUPTED = 1, 2, 3, 4, 130
"""PASSED: a threshold was passed, findings are as severe as asked for, or edits conflict with their plan."""
