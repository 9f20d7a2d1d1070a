"""The maximum power of a server, estimated from that of its GPUs where none is published."""

from __future__ import annotations

from fractions import Fraction
from math import ceil

from bomgen.catalog.files import Catalog
from bomgen.catalog.parts import Gpu, Server
from bomgen.core.caching import cache_one
from bomgen.core.provenance import Figure, formula, product

LOW, USUAL, HIGH = "server-power-to-gpus-low", "server-power-to-gpus", "server-power-to-gpus-high"


def estimate_power(server: Server, gpu: Gpu) -> Server:
    """The server with an estimated maximum power [W], where none is published and that of the GPU is."""
    if server.power_w or gpu.power_w is None:
        return server
    low, usual, high = (_assumption(id) for id in (LOW, USUAL, HIGH))
    return server._replace(power_w=_power(server, gpu.power_w, usual.between(low.value, high.value)))


def _power(server: Server, gpu_power_w: Figure, to_gpus: Figure) -> Figure:
    tray = power_of_server(server.gpus, gpu_power_w, to_gpus)
    return power_of_trays(server.trays, tray) if server.trays else tray


@formula("W")
def power_of_server(gpus: int, gpu_power_w: int, to_gpus: Fraction) -> int:
    """Maximum power of a server, estimated from that of its GPUs."""
    return ceil(gpus * gpu_power_w * to_gpus)


power_of_trays = product("power_of_trays", "W", "trays", "tray_w")
"""Maximum power of a rack-scale system, estimated from that of its trays."""


@cache_one
def _assumption(id: str) -> Figure:
    return Catalog().assumption(id)
