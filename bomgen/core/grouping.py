"""Grouping of items by a key."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(items: Iterable[Item], key: Callable[[Item], Key]) -> dict[Key, list[Item]]:
    """Return the items of each key, in their order; keys are in order of first appearance."""
    groups = dict[Key, list[Item]]()
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups
