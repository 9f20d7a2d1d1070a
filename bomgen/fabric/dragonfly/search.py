"""The numbers of a dragonfly: the smallest balanced one, what given ones leave open, what would work instead."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil

from bomgen.fabric.ports import links_in_cage

LETTERS = ("p", "a", "h", "g")


def ports_left_for_endpoints(
    radix: int, local_radix: int, global_radix: int, cages: int, local: int, outer: int
) -> int:
    """Links to servers that fit on a router beside local and global ones; `cages` hold all, 0: all have one rate.

    A cage holds links of one rate; where a switch has fewer ports at a rate than cages, a link takes several of them.
    """
    if not cages:
        return radix - local - outer
    ports = {radix: 0, local_radix: 0, global_radix: 0}
    ports[local_radix] += local
    ports[global_radix] += outer
    beside = ports.pop(radix)
    filled = sum(ceil(used / links_in_cage(at_rate, cages)) for at_rate, used in ports.items())
    return int((cages - filled) * links_in_cage(radix, cages)) - beside


def most_balanced(radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the largest balanced dragonfly that a switch allows; 0 when there is none."""
    size = 0
    while size + 1 <= ports_left_for_endpoints(radix, local_radix, global_radix, cages, 2 * (size + 1) - 1, size + 1):
        size += 1
    return size


def capacity(size: int, groups: int = 0) -> int:
    """Endpoints of a balanced dragonfly with `size` endpoints a router, in so many groups; 0: in all there can be."""
    of_group = 2 * size * size
    return of_group * (groups or of_group + 1) if groups <= of_group + 1 else 0


def best_balanced(endpoints: int, groups: int, radix: int, local_radix: int, global_radix: int, cages: int) -> int:
    """Endpoints a router of the balanced dragonfly with the fewest routers; 0 when none is large enough.

    Of equally many routers the smaller ones have fewer links.
    """
    sizes = range(1, most_balanced(radix, local_radix, global_radix, cages) + 1)
    found = (
        (2 * size * (groups or ceil(endpoints / (2 * size * size))), size)
        for size in sizes
        if capacity(size, groups) >= endpoints
    )
    return min(found, default=(0, 0))[1]


def fill_in_numbers(numbers: Mapping[str, int], endpoints: int) -> tuple[int, int, int, int]:
    """p, a, h and g from those of them that are given, one of p, a and h at least."""
    p, a, h, g = (numbers.get(letter, 0) for letter in LETTERS)
    h = h or (max(a // 2, 1) if a else p)
    p = p or h
    a = a or 2 * max(p, h)
    return p, a, h, g or ceil(endpoints / (a * p))


def is_feasible(numbers: Mapping[str, int], endpoints: int, ports: tuple[int, int, int, int]) -> bool:
    """Whether a dragonfly with these numbers fits its routers and holds the endpoints."""
    p, a, h, g = fill_in_numbers(numbers, endpoints)
    return p <= ports_left_for_endpoints(*ports, a - 1, h) and g <= a * h + 1 and endpoints <= a * p * g


def nearest_feasible(given: Mapping[str, int], broke: str, endpoints: int, ports: tuple[int, int, int, int]) -> str:
    """The nearest value of a number, first of the one that broke, that works beside the others that are given."""
    for letter in (broke, *(letter for letter in given if letter != broke)):
        value = given[letter]
        fitting = [each for each in candidate_values(given, letter, endpoints, ports) if each != value]
        fitting = [each for each in fitting if is_feasible({**given, letter: each}, endpoints, ports)]
        if fitting:
            return f"`{letter}: {min(fitting, key=lambda each: (abs(each - value), each))}` works"
    return "leave p, a, h and g to the rules"


def candidate_values(
    given: Mapping[str, int], letter: str, endpoints: int, ports: tuple[int, int, int, int]
) -> Iterable[int]:
    """The values of a number that can work: no more than a router has ports; groups from the need to all there can be.

    Of groups the fewest and the most stand for all between them.
    """
    if letter != "g":
        return range(1, ports[0] + 1)
    p, a, h, _ = fill_in_numbers(given, endpoints)
    return ceil(endpoints / (a * p)), a * h + 1
