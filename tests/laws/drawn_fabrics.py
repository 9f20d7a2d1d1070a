"""Random plans of fabrics with every kind of switch, NIC, module and host, from a seed.

They reach what whole plans seldom do: switches and NICs described in the plan with and without a cage, cages of several
ports, named media and modules, breakout, several kinds of hosts with ports of their own, rates that differ between
kinds of link. Many are refused; that is as good a result as a design that adds up.
"""

from __future__ import annotations

from random import Random
from typing import Any

SWITCHES = (
    *("qm9700", "qm9790", "qm8700", "q3400-ra", "q3450-ld", "sn5600", "sn5610", "sn4700", "sn6600", "sn6810-ld"),
    *("7060x6-64pe", "7060xe7-64ps", "7060xe7-128pe", "7060dx5-64s", "7804r4", "generic-th5-64x800"),
    *("generic-th6-64x1600", "h3c-s9855-48cd8d", "dell-z9864f", "qfx5240-64qd", "fs-n9550-64d"),
)
CLUSTERS: tuple[dict[str, Any], ...] = (
    *({"gpu": "h100-sxm"}, {"gpu": "h100-sxm", "server": "dgx-h100"}, {"gpu": "h200-sxm"}, {"gpu": "b200-sxm"}),
    *({"gpu": "b300-sxm"}, {"gpu": "mi300x"}, {"gpu": "mi325x"}, {"gpu": "l40s"}, {"gpu": "gb200"}, {"gpu": "gb300"}),
    {"gpu": "a100-sxm-80", "server": "dgx-a100-640"},
)
NICS = ("cx7-400-osfp", "cx7-2x200", "cx8-800", "cx8-2x400", "bf3-b3220", "bf3-b3240", "cx6-hdr", "thor2-400")
CAGES = ("osfp-flat", "osfp", "osfp-finned", "qsfp112", "qsfp56", "qsfp-dd", "any")
RATES = (100, 200, 400, 800)
MODULES = (
    *("generic-100g", "generic-200g", "generic-400g", "generic-800g", "mma4z00-ns", "mma4z00-ns400", "mms4x00-nm"),
    *("800g-dr8", "800g-sr8", "800g-2xsr4", "400g-dr4", "mma1z00-ns400", "mms4x00-ns400", "mma1t00-hs"),
)
MEDIA = ("auto", "dac", "acc", "aoc", "transceiver")
KINDS = ("server-leaf", "leaf-spine", "spine-core")
TOPOLOGIES = (
    *("fat-tree", "fat-tree", "rail-optimized", "rail-optimized", "rail-only", "single-switch", "dragonfly"),
    *("mesh", "dragonfly+"),
)
PLUGGED_HOSTS = ("ufm-ndr", "generic-management-server")
MOST_SERVERS = 40


def maybe(random: Random, share: float = 0.5) -> bool:
    """Whether something that not every plan has is there."""
    return random.random() < share


def draw_nic(random: Random) -> str | dict[str, Any]:
    """A NIC of the catalogue, or one described in the plan."""
    if maybe(random):
        return random.choice(NICS)
    ports = random.choice((1, 1, 2, 4))
    nic = {"ports": ports, "port_gbps": random.choice(RATES), "cage": random.choice(CAGES)}
    if ports > 1 and maybe(random):
        nic["ports_per_cage"] = ports
    return nic


def draw_switch(random: Random) -> str | dict[str, Any]:
    """A switch of the catalogue, or one described in the plan, with or without its cage."""
    if maybe(random, 0.7):
        return random.choice(SWITCHES)
    switch: dict[str, Any] = {"ports": random.choice((8, 16, 24, 32, 48, 64)), "port_gbps": random.choice(RATES[1:])}
    if maybe(random):
        switch["cage"] = random.choice(CAGES)
    if maybe(random):
        switch["ports_per_cage"] = random.choice((1, 2))
    if maybe(random):
        switch["split"] = random.choice((2, 4))
    return switch


def draw_links(random: Random) -> dict[str, Any]:
    """How some kinds of link are built."""
    found: dict[str, Any] = {}
    for kind in KINDS:
        if not maybe(random, 0.35):
            continue
        link: dict[str, Any] = {}
        if maybe(random):
            link["medium"] = random.choice(MEDIA)
        if link.get("medium", "transceiver") in ("transceiver", "auto") and maybe(random):
            ends = ("server" if kind == KINDS[0] else kind.split("-")[0], kind.split("-")[1])
            whole = maybe(random)
            link["module"] = random.choice(MODULES) if whole else {end: random.choice(MODULES) for end in ends}
        if maybe(random, 0.3):
            link["length"] = f"{random.choice((1, 2, 3, 5, 20, 45, 90))} m"
        if kind != KINDS[0] and maybe(random, 0.2):
            link["rate"] = f"{random.choice(RATES[1:])}G"
        if link:
            found[kind] = link
    return found


def draw_hosts(random: Random, role: str) -> list[dict[str, Any]]:
    """Up to three kinds of other machines, some with ports of their own."""
    hosts = []
    for number in range(random.choice((0, 0, 1, 1, 2, 3))):
        host: dict[str, Any] = {"name": f"{role}{number}", "count": random.randint(1, 6)}
        if maybe(random, 0.7):
            host["ports"] = random.randint(1, 3)
        if maybe(random):
            host["part"] = random.choice(
                (
                    *PLUGGED_HOSTS,
                    {"name": f"{role} machine {number}", "rack_units": 2, "power": "1 kW"},
                    {
                        "name": f"{role} node {number}",
                        "rack_units": 1,
                        "ports": random.choice((1, 2)),
                        "port_gbps": random.choice(RATES),
                        "cage": random.choice(CAGES),
                    },
                )
            )
        hosts.append(host)
    return hosts


def draw_fabric(random: Random, role: str) -> dict[str, Any]:
    """A fabric of the compute or another role."""
    fabric: dict[str, Any] = {"switch": draw_switch(random)}
    compute = role == "compute"
    topology = random.choice(TOPOLOGIES if compute else ("fat-tree", "fat-tree", "rail-optimized", "single-switch"))
    if topology != "fat-tree" or maybe(random):
        fabric["topology"] = topology
    if maybe(random, 0.4):
        fabric["nic"] = draw_nic(random)
    if not compute:
        fabric["ports_per_server"] = random.choice((1, 2))
    elif maybe(random, 0.2):
        fabric["gpus_per_nic"] = random.choice((1, 2, 4))
    if maybe(random, 0.1):
        fabric["link"] = f"{random.choice(RATES)}G"
    clos = topology in ("fat-tree", "rail-optimized", "rail-only")
    if clos:
        if maybe(random):
            fabric["build_out"] = random.choice(("exact", "full"))
        if maybe(random, 0.4):
            fabric["oversubscription"] = random.choice((1, 1.5, 2, 3))
        if maybe(random, 0.2):
            fabric["planes"] = 2
        if maybe(random, 0.2):
            fabric["tiers"] = random.choice((2, 3))
        if maybe(random, 0.15):
            fabric["spine"] = {"switch": draw_switch(random)}
    if topology == "mesh":
        fabric["mesh"] = {"switches": random.choice((2, 2, 3, 4))}
        fabric["homing"] = random.choice(("single", "dual", "rails"))
        fabric["oversubscription"] = random.choice((1, 2, 4))
    if topology == "rail-optimized" and maybe(random, 0.3):
        fabric["scalable_unit"] = {"servers": random.choice((4, 8, 16, 32))}
    if topology != "single-switch" and maybe(random, 0.3):
        fabric["reserved_ports"] = random.randint(1, 5)
    hosts = draw_hosts(random, role.replace("_", "-"))
    if hosts:
        fabric["hosts"] = hosts
    links = draw_links(random)
    if links:
        fabric["links"] = links if clos else {kind: link for kind, link in links.items() if kind == KINDS[0]}
    return fabric


def draw_plan(seed: int) -> dict[str, Any]:
    """The plan of a seed."""
    random = Random(seed)  # noqa: S311
    cluster = dict(random.choice(CLUSTERS))
    if maybe(random, 0.3):
        nics = random.choice((1, 2, 3, 4, 8))
        server = {"gpus": 8, "nics": nics, "nic": draw_nic(random), "rack_units": 6, "power": "9 kW"}
        cluster = {"gpu": "h100-sxm", "server": server}
    cluster["servers"] = 18 * random.randint(1, 2) if cluster["gpu"][:2] == "gb" else random.randint(1, MOST_SERVERS)
    fabrics = {"compute": draw_fabric(random, "compute")}
    for role in ("storage", "in_band"):
        if maybe(random, 0.25):
            fabrics[role] = "default" if maybe(random, 0.3) else draw_fabric(random, role)
    if maybe(random, 0.2) and cluster["gpu"] != "l40s":
        fabrics["out_of_band"] = "default" if maybe(random) else {"switch": "sn2201"}
        if maybe(random) and "in_band" in fabrics and isinstance(fabrics["out_of_band"], dict):
            fabrics["out_of_band"]["uplink"] = "in_band"
    plan: dict[str, Any] = {"bomgen": 1, "name": f"drawn-{seed}", "cluster": cluster, "fabrics": fabrics}
    if maybe(random, 0.25):
        plan["site"] = {"rack": {"units": 48, "power": f"{random.randint(20, 60)} kW", "pdus": 2}}
        if maybe(random):
            plan["site"]["layout"] = "auto"
    return plan
