"""What a topology is asked for and what it answers, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from bomgen.figures import Figure
from bomgen.parts import Switch


@dataclass(frozen=True, slots=True)
class TierChoice:
    """The switch of a tier and what the plan fixes of it; None is left to the rules."""

    switch: Switch
    servers: Figure | None = None
    per_pod: Figure | None = None
    count: Figure | None = None
    downlinks: Figure | None = None
    uplinks: Figure | None = None


class Demand(NamedTuple):
    """What a fabric must carry, and with what."""

    servers: Figure
    ports_per_server: Figure
    """Endpoints of a server."""
    reserved_ports: Figure | None
    rates: Mapping[str, Figure]
    """Rate of each kind of link [Gb/s], by `server-leaf`, `leaf-spine`, `spine-core`."""
    tiers: Figure | None
    """None: as few as fit."""
    oversubscription: Figure
    spine_oversubscription: Figure
    leaf: TierChoice
    spine: TierChoice
    core: TierChoice
    pod_leaves: Figure | None
    exact: bool
    """Build out only what serves somebody."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """Switches of a tier that are alike: how many, and the ports populated on each."""

    count: Figure
    down: Figure
    up: Figure | None


@dataclass(frozen=True, slots=True)
class Tier:
    """A tier of equal switches. `down` and `up` are the ports used on a fully connected one."""

    name: str
    switch: Switch
    count: Figure
    radix: Figure
    down: Figure
    up: Figure | None
    fitted: tuple[Fitted, ...]
    oversubscription: Figure | None
    """Bandwidth below over bandwidth above, as built on the fullest switch; None at the top."""


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one kind. `cabled` are those with a cable; reserved ports have none."""

    kind: str
    count: Figure
    cabled: Figure
    rate_gbps: Figure


class Fabric(NamedTuple):
    """A fabric as counts per tier."""

    topology: str
    endpoints: Figure
    ports_per_server: Figure
    tier_count: Figure
    tiers: tuple[Tier, ...]
    links: tuple[Links, ...]
    switches: Figure
    bisection_gbps: Figure
    pods: Figure | None = None
    reserved_above: Figure | None = None
    """Reserved ports that stand on spines because the leaves are full."""

    def tier(self, name: str) -> Tier | None:
        """The tier of that name, or None."""
        return next((tier for tier in self.tiers if tier.name == name), None)
