"""Grouping of items by a key."""

from __future__ import annotations

from bomgen.core.document import group_by


def test_items_and_keys_keep_their_order() -> None:
    """Each key has its items in order; keys are in order of first appearance."""
    groups = group_by(["leaf-2", "spine-1", "leaf-1"], lambda name: name.partition("-")[0])
    assert groups == {"leaf": ["leaf-2", "leaf-1"], "spine": ["spine-1"]}
    assert list(groups) == ["leaf", "spine"]
