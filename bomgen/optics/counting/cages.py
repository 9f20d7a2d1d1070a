"""The cages of switches: what they hold, how many are filled, and how many links run in parallel."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, gcd
from typing import NamedTuple

from bomgen.catalog.parts import Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.ports import carries_rate, links_per_cage
from bomgen.fabric.types import Fabric, Links, Tier, ports_of
from bomgen.optics.compatibility import Cage

SPINE = "spine"


def cage_of(switch: Switch, device: str, rate: Figure) -> Cage:
    """The cage of a switch for links of a rate."""
    group = next(group for group in switch.groups if carries_rate(group, rate))
    return Cage(device, group.cage, links_per_cage(group, rate), switch.protocol, switch.identity.name)


class Plugged(NamedTuple):
    """What a kind of link has in the cages of a device: a module or a cable's plug, and the links it carries.

    `part` is None when no part is known or a planning part fits anywhere.
    """

    links: Links
    part: str | None
    carried: int


def count_filled_cages(tier: Tier, plugged: Iterable[Plugged]) -> tuple[int, int] | None:
    """The cages that the links of a fully connected switch fill, and the cages it has.

    Different parts do not share a cage. None when it cannot be told: parts are not known, ports are of several kinds,
    or all links have the same part.
    """
    by_part: dict[tuple[str, int], int] = {}
    for each in plugged:
        if each.part is None:
            return None
        key = (each.part, each.carried)
        by_part[key] = by_part.get(key, 0) + ports_of(tier, each.links)
    if len(tier.switch.groups) > 1 or len(by_part) < 2:
        return None
    group = tier.switch.groups[0]
    filled = sum(ceil(ports / carried) for (_, carried), ports in by_part.items())
    return filled, int(group.ports.value // group.ports_per_cage.value)


def parallel_links(fabric: Fabric, links: Links) -> int:
    """Links that run in parallel between the same two switches of two tiers; the actual number is a multiple.

    Every leaf has the same number of links to each spine of its pod; a spine reaches as many cores as it can.
    """
    plane = fabric.plane or fabric
    lower, upper = (plane.tier(name) for name in links.ends)
    if links.within_tier or lower is None or upper is None:
        return 1
    above = int(upper.count.value)
    if upper.name == SPINE and plane.pods:
        above //= int(plane.pods.value)
    ups = [int(fitted.up.value) for fitted in lower.fitted if fitted.up and fitted.count.value]
    return gcd(*(up // above if up % above == 0 else 1 for up in ups)) or 1
