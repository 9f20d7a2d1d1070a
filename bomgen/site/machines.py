"""Machines that stand in racks beside the servers, or in the servers."""

from __future__ import annotations

from dataclasses import dataclass

from bomgen.core.provenance import Figure


@dataclass(frozen=True, slots=True)
class Equipment:
    """Equal machines beside the servers: how many, and what is known of one."""

    name: str
    count: Figure
    power_w: Figure | None
    height_u: Figure | None
    in_server: bool = False
    """They take no room of their own."""
    typical: bool = False
    """The power is a typical one, because no maximum is published."""
    of_storage: bool = False
    """They store, and are no part of the network."""
    weight_kg: Figure | None = None
    """Of one."""
