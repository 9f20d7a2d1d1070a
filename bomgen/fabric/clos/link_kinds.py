"""What the topologies of the folded Clos family share: tiers, kinds of link, and which port is connected to which."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from bomgen.fabric.declaration import SERVER_LEAF, Connections, LinkKind
from bomgen.fabric.types import Fabric

if TYPE_CHECKING:
    from bomgen.fabric.links.endpoints import Seats

TIERS = ("leaf", "spine", "core")
LEAF_SPINE = LinkKind(
    *("leaf-spine", ("leaf", "spine"), "LS", "Leaf to spine", "Links from the leaf to the spine switches."),
    {"medium": "transceiver", "module": "generic-400g", "length": "30 m"},
    in_every_result=True,
)
SPINE_CORE = LinkKind(
    *("spine-core", ("spine", "core"), "SC", "Spine to core"),
    "Links from the spine to the core switches of a three-tier fabric.",
    {"medium": "transceiver", "rate": "800G"},
    in_every_result=True,
)
LINK_KINDS = (SERVER_LEAF, LEAF_SPINE, SPINE_CORE)


def connect(plane: Fabric, seats: Seats | None) -> Iterator[tuple[LinkKind, Connections]]:
    """The links of leaves to the spines of their pod, and of spines to cores, spread evenly.

    Raises ValueError when links do not spread evenly, or the fabric has no seats.
    """
    from bomgen.fabric.links.folded_clos import connect_cores, connect_spines

    if plane.tier("spine") is not None:
        yield LEAF_SPINE, connect_spines(plane, seats)
    if plane.tier("core") is not None:
        yield SPINE_CORE, connect_cores(plane)
