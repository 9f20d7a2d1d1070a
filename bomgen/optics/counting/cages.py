"""The cages of switches: what they hold, how many are filled, and how many links run in parallel."""

from __future__ import annotations

from fractions import Fraction
from math import gcd

from bomgen.catalog.parts import Switch
from bomgen.core.provenance import Figure
from bomgen.fabric.ports import carries_rate, links_per_cage
from bomgen.fabric.types import Fabric, Links
from bomgen.optics.compatibility import Cage

SPINE = "spine"


def cage_of(switch: Switch, device: str, rate: Figure) -> Cage:
    """The cage of a switch for links of a rate."""
    group = next(group for group in switch.groups if carries_rate(group, rate))
    power = Fraction(group.cage_power_w.value) if group.cage_power_w else None
    return Cage(
        device, group.cage, links_per_cage(group, rate), switch.protocol, switch.identity.name, power, group.optics
    )


def parallel_links(fabric: Fabric, links: Links) -> int:
    """Links that run in parallel between the same two switches of two tiers; the actual number is a multiple.

    Every leaf has the same number of links to each spine of its pod; a spine reaches as many cores as it can.
    """
    plane = fabric.plane or fabric
    lower, upper = (plane.tier(name) for name in links.ends)
    if links.parallel:
        return int(links.parallel.value)
    if links.within_tier or lower is None or upper is None:
        return 1
    above = int(upper.count.value)
    if upper.name == SPINE and plane.pods:
        above //= int(plane.pods.value)
    ups = [int(fitted.up.value) for fitted in lower.fitted if fitted.up and fitted.count.value]
    return gcd(*(up // above if up % above == 0 else 1 for up in ups)) or 1
