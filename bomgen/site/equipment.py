"""Equipment other than the servers: what stands in racks, and cards in the servers."""

from __future__ import annotations

from dataclasses import dataclass

from bomgen.core.provenance import Figure


@dataclass(frozen=True, slots=True)
class Equipment:
    """Equal machines other than the servers: how many, and what is known of one."""

    name: str
    count: Figure
    power_w: Figure | None
    height_u: Figure | None
    in_server: bool = False
    """They sit in servers and take no rack units of their own."""
    of_storage: bool = False
    """They belong to storage, not to the network."""
    weight_kg: Figure | None = None
    """Per machine."""
