"""The numbers of a dragonfly+: the smallest balanced one, what given ones leave open, what would work instead."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from bomgen.fabric.ports import SharedCages, ports_left_down

LETTERS = ("p", "a", "s", "h", "g")
FIRST_GIVEN = ("s", "a", "h", "p")
"""Numbers that the plan leaves open are equal to the first of these that it gives."""


class SwitchPorts(NamedTuple):
    """The ports of a leaf and of a spine at the rates of their links, and the cages that links of two rates share."""

    leaf_down: int
    leaf_up: int
    leaf_cages: int | SharedCages
    spine_down: int
    spine_global: int
    spine_cages: int | SharedCages
    parallel: int = 1
    """Links between a leaf and a spine of its group."""

    def left_on_leaf(self, s: int) -> int:
        """Ports of a leaf for endpoints, beside its links to each spine of its group."""
        up = s * self.parallel
        return ports_left_down(up, self.leaf_down, self.leaf_up, self.leaf_cages) if up <= self.leaf_up else 0

    def left_on_spine(self, h: int) -> int:
        """Leaves that a spine has ports for, beside its global links."""
        left = ports_left_down(h, self.spine_down, self.spine_global, self.spine_cages) if h <= self.spine_global else 0
        return left // self.parallel


def most_balanced(ports: SwitchPorts) -> int:
    """The number p = a = s = h of the largest balanced dragonfly+ that the switches allow; 0 when there is none."""
    size = 0
    while size + 1 <= min(ports.left_on_leaf(size + 1), ports.left_on_spine(size + 1)):
        size += 1
    return size


def capacity(size: int, groups: int = 0) -> int:
    """Endpoints of a balanced dragonfly+ of a size, in so many groups; 0: in all there can be."""
    of_group = size * size
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, ports: SwitchPorts) -> int:
    """The number p = a = s = h of the balanced dragonfly+ with the fewest switches; 0 when none is large enough.

    Of equally many switches the smaller number has fewer links.
    """
    found = (
        (2 * size * (groups or ceil(endpoints / (size * size))), size)
        for size in range(1, most_balanced(ports) + 1)
        if capacity(size, groups) >= endpoints
    )
    return min(found, default=(0, 0))[1]


def fill_in_numbers(given: Mapping[str, int], endpoints: int) -> dict[str, int]:
    """p, a, s, h and g from those of them that are given, one of p, a, s and h at least."""
    first = next(given[letter] for letter in FIRST_GIVEN if letter in given)
    numbers = {letter: given.get(letter, first) for letter in LETTERS[:-1]}
    return numbers | {"g": given.get("g") or ceil(endpoints / (numbers["a"] * numbers["p"]))}


def is_feasible(given: Mapping[str, int], endpoints: int, ports: SwitchPorts) -> bool:
    """Whether a dragonfly+ with these numbers fits its switches and holds the endpoints."""
    p, a, s, h, g = fill_in_numbers(given, endpoints).values()
    fits = p <= ports.left_on_leaf(s) and a <= ports.left_on_spine(h)
    return fits and g <= s * h + 1 and endpoints <= a * p * g


def nearest_feasible(given: Mapping[str, int], broke: str, endpoints: int, ports: SwitchPorts) -> str:
    """The nearest value of a number, first of the one that broke, that works beside the others that are given."""
    for letter in (broke, *(letter for letter in given if letter != broke)):
        value = given[letter]
        numbers = fill_in_numbers(given, endpoints)
        groups = (ceil(endpoints / (numbers["a"] * numbers["p"])), numbers["s"] * numbers["h"] + 1)
        candidates = groups if letter == "g" else range(1, max(ports.leaf_down, ports.spine_down) + 1)
        fitting = [
            each for each in candidates if each != value and is_feasible({**given, letter: each}, endpoints, ports)
        ]
        if fitting:
            return f"`{letter}: {min(fitting, key=lambda each: (abs(each - value), each))}` works"
    return "leave p, a, s, h and g to the rules"
