"""From links to what is plugged and bought: modules in cages, cables with their ends, fibres.

Modules are counted per device from occupied cages, never over the fabric as a whole: a twin-port module is not shared
by two switches. Both ends of a link light the same fibre with the same signal. Generic parts stand for whatever fits:
they count one a port, and are reported with the real parts that a buyer would order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.fabric.model import Fabric, Fitted, Links
from bomgen.fabric.ports import links_per_cage, serves
from bomgen.figures import Figure, formula
from bomgen.medium import (
    COPPER_PAIRS,
    RJ45,
    Cage,
    Medium,
    Stock,
    Unbuildable,
    Wish,
    cables,
    choose,
    metres,
    transceivers,
)
from bomgen.parts import ANY, AVAILABLE, Cable, Module, Switch
from bomgen.problems import Problem, Severity


class ModuleUse(NamedTuple):
    """Modules of one kind of link in one kind of device."""

    kind: str
    device: str
    module: Module
    quantity: Figure


class CableUse(NamedTuple):
    """Cables of one kind of link; the part is None when none is known."""

    kind: str
    cable: Cable | None
    length_m: Fraction
    quantity: Figure


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, and what is to be said of them."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]


@formula("pieces")
def modules_of_switches(switches: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal switches: every switch rounds up for itself."""
    return switches * ceil(ports / ports_per_module)


@formula("pieces")
def modules_beside(switches: int, ports: int, other_ports: int, ports_per_module: int) -> int:
    """Modules of equal switches beside those of their other links, which may leave half a twin-port module over."""
    return switches * (ceil((ports + other_ports) / ports_per_module) - ceil(other_ports / ports_per_module))


@formula("pieces")
def modules_of_servers(servers: int, ports: int, ports_per_module: int) -> int:
    """Modules of equal servers: every server rounds up for itself."""
    return servers * ceil(ports / ports_per_module)


@formula("pieces")
def modules_of_reserved(reserved_ports: int, ports_per_module: int) -> int:
    """Modules of reserved ports that stand side by side on a spine."""
    return ceil(reserved_ports / ports_per_module)


@formula("pieces")
def sum_of_modules(modules: int, more_modules: int) -> int:
    """Modules of switches with different ports in use."""
    return modules + more_modules


@formula("pieces")
def cables_of_links(links: int) -> int:
    """One cable a link."""
    return links


@formula("pieces")
def cables_of_devices(links: int, links_per_device: int, links_per_cable: int) -> int:
    """Cables that carry several links from one device: every device rounds up for itself."""
    return links // links_per_device * ceil(links_per_device / links_per_cable) + ceil(
        links % links_per_device / links_per_cable
    )


def cage_of(switch: Switch, device: str, rate: Figure) -> Cage:
    """The cage of a switch that links of a rate are plugged into."""
    group = next(group for group in switch.groups if serves(group, rate))
    return Cage(device, group.cage, links_per_cage(group, rate), switch.protocol, switch.identity.name)


def connect(
    fabric: Fabric,
    servers: Figure,
    server_cage: Cage,
    hosts: Sequence[tuple[Figure, Figure]],
    wishes: Mapping[str, Wish],
    stock: Stock,
) -> Interconnect:
    """The modules and cables of a fabric whose servers plug into it with `server_cage`.

    `hosts` are other machines on it, how many and the ports of each: their cages are taken for the servers'.
    """
    builder = _Builder(fabric, servers, server_cage, hosts, stock)
    for links in fabric.links:
        builder.add(links, wishes[links.kind])
    return builder.result()


class _Builder:
    """Collects the modules and cables of one fabric, kind of link by kind of link."""

    def __init__(
        self,
        fabric: Fabric,
        servers: Figure,
        server_cage: Cage,
        hosts: Sequence[tuple[Figure, Figure]],
        stock: Stock,
    ) -> None:
        self.fabric, self.servers, self.server_cage, self.stock = fabric, servers, server_cage, stock
        self.hosts = hosts
        self.modules: list[ModuleUse] = []
        self.cables: list[CableUse] = []
        self.problems: list[Problem] = []
        self.below: dict[str, Module | None] = {}
        """The module in the ports down of each tier that was already populated."""

    def add(self, links: Links, wish: Wish) -> None:
        """Build one kind of link."""
        lower_name, upper_name = links.kind.split("-")
        lower, upper = self._cage(lower_name, links.rate_gbps), self._cage(upper_name, links.rate_gbps)
        try:
            medium = choose(wish, lower, upper, links.rate_gbps, self.stock)
        except Unbuildable as error:
            self._problem(wish, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(wish, "error", str(error), "unknown-part", links.kind)
            return
        if medium is None:
            self._nothing_known(links, lower, upper, wish)
            return
        before = len(self.modules)
        if medium.lower is not None and medium.upper is not None:
            for cage, module in ((lower, medium.lower), (upper, medium.upper)):
                if cage.form not in ("mpo", RJ45):
                    self.modules.append(ModuleUse(links.kind, cage.device, module, self._count(cage, links, module)))
        self.below[upper_name] = medium.upper
        if medium.cable is not None or medium.lower is not None:
            self.cables.append(CableUse(links.kind, medium.cable, medium.length_m, self._pieces(links, medium.cable)))
        self._remarks(links, wish, medium, lower, upper, self.modules[before:])

    def result(self) -> Interconnect:
        """What was collected."""
        return Interconnect(tuple(self.modules), tuple(self.cables), tuple(self.problems))

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _count(self, cage: Cage, links: Links, module: Module) -> Figure:
        """Modules of one kind in all devices at one end of a kind of link."""
        tier = self.fabric.tier(cage.device)
        if tier is None:
            total = modules_of_servers(self.servers, self.fabric.ports_per_server, module.ports)
            for count, ports in self.hosts:
                total = sum_of_modules(total, modules_of_servers(count, ports, module.ports))
            return total
        faces_up = links.kind.startswith(cage.device)
        counts = [self._of_switches(fitted, faces_up, module, cage) for fitted in tier.fitted]
        total = counts[0]
        for count in counts[1:]:
            total = sum_of_modules(total, count)
        if self.fabric.reserved_above and cage.device == "spine" and not faces_up:
            total = sum_of_modules(total, modules_of_reserved(self.fabric.reserved_above, module.ports))
        return total

    def _of_switches(self, fitted: Fitted, faces_up: bool, module: Module, cage: Cage) -> Figure:
        if not faces_up:
            return modules_of_switches(fitted.count, fitted.down, module.ports)
        if fitted.up is None:
            raise ValueError(f"the top tier {cage.device} has no links up")
        below = self.below.get(cage.device)
        if below is not None and below.identity.id == module.identity.id:
            return modules_beside(fitted.count, fitted.up, fitted.down, module.ports)
        return modules_of_switches(fitted.count, fitted.up, module.ports)

    def _pieces(self, links: Links, cable: Cable | None) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(links.cabled)
        upper = self.fabric.tier(links.kind.split("-")[1])
        if upper is None:
            raise ValueError(f"{links.kind} ends at no switch")
        return cables_of_devices(links.cabled, upper.down, cable.links)

    def _nothing_known(self, links: Links, lower: Cage, upper: Cage, wish: Wish) -> None:
        message = (
            f"no part known for {links.kind} links of {links.rate_gbps.value} Gb/s between {lower.name} "
            f"({lower.described}) and {upper.name} ({upper.described}) over "
            f"{metres(Fraction(wish.length_m.value))} m; name a module, or a generic one"
        )
        self._problem(wish, "warning", message, "no-part-known", links.kind)
        self.cables.append(CableUse(links.kind, None, Fraction(wish.length_m.value), cables_of_links(links.cabled)))

    def _remarks(
        self, links: Links, wish: Wish, medium: Medium, lower: Cage, upper: Cage, uses: list[ModuleUse]
    ) -> None:
        """Warnings about parts that cannot be ordered as they stand."""
        used = dict.fromkeys(module for module in (medium.lower, medium.upper) if module)
        for module in used:
            if module.identity.generic:
                self._problem(
                    wish, "warning", self._real_modules(links, module, lower, upper, wish), "generic", links.kind
                )
            elif module.identity.availability != AVAILABLE:
                message = f"{module.identity.part_number} is {module.identity.availability}; name another module"
                self._problem(wish, "warning", message, "availability", links.kind)
        cable = medium.cable
        if cable is None:
            message = f"no part known for the fibre of {links.kind} links; name modules with a known fibre"
            self._problem(wish, "warning", message, "no-part-known", links.kind)
        elif cable.identity.generic and cable.medium not in ("fibre", COPPER_PAIRS):
            self._problem(wish, "warning", self._real_cable(cable, links, lower, upper, wish), "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            message = f"{cable.identity.part_number} is {cable.identity.availability}; name another cable"
            self._problem(wish, "warning", message, "availability", links.kind)
        self._check_cages(uses, wish, links)

    def _real_modules(self, links: Links, module: Module, lower: Cage, upper: Cage, wish: Wish) -> str:
        """What the cages of a link with generic modules really take, with the pieces."""
        length, rate = Fraction(wish.length_m.value), int(links.rate_gbps.value)
        real = next(transceivers(lower, upper, rate, length, self.stock), None)
        start = f"{module.identity.id} is a planning part, counted one a port"
        if real is None or real.lower is None or real.upper is None:
            return f"{start}; no module that can be ordered is known for {links.kind} links of these cages"
        ends = []
        for cage, part in ((lower, real.lower), (upper, real.upper)):
            word = "twin-port modules" if part.ports.value == 2 else "modules"
            count = self._count(cage, links, part)
            ends.append(f"a {cage.name} takes {word}, {count.value} x {part.identity.part_number} ({cage.device} end)")
        return f"{start}; to order: {' and '.join(ends)}"

    def _real_cable(self, cable: Cable, links: Links, lower: Cage, upper: Cage, wish: Wish) -> str:
        length, rate = Fraction(wish.length_m.value), int(links.rate_gbps.value)
        real = next(cables(cable.medium, lower, upper, rate, length, self.stock), None)
        start = f"{cable.identity.id} is a planning part, counted one a link"
        if real is None or real.cable is None:
            twin = f"a {upper.name} cage takes twin-port parts" if upper.links == 2 else f"a {upper.name} cage"
            return (
                f"{start}; {twin}, and no {cable.medium.upper()} that fits it and the {lower.form} cage of "
                f"{lower.name} is known: ask the vendor, or choose transceivers"
            )
        return f"{start}; to order: {real.cable.identity.part_number}"

    def _check_cages(self, uses: list[ModuleUse], wish: Wish, links: Links) -> None:
        """Different modules up and down do not share a cage: what both fill must not exceed the cages there are."""
        lower_name = links.kind.split("-")[0]
        tier = self.fabric.tier(lower_name)
        below = self.below.get(lower_name)
        up = next((use.module for use in uses if use.device == lower_name), None)
        if tier is None or below is None or up is None or below.identity.id == up.identity.id or tier.up is None:
            return
        group = next(group for group in tier.switch.groups if serves(group, links.rate_gbps))
        if len(tier.switch.groups) > 1 or ANY in (below.cage, up.cage):
            return
        cages = group.ports.value // group.ports_per_cage.value
        filled = ceil(tier.down.value / below.ports.value) + ceil(tier.up.value / up.ports.value)
        if filled > cages:
            message = (
                f"{tier.down.value} links down and {tier.up.value} up with different modules fill {filled} cages; "
                f"a {tier.switch.identity.name} has {cages}: use one module for both, or even numbers of links"
            )
            self._problem(wish, "error", message, "cages", links.kind)

    def _problem(self, wish: Wish, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(wish.mark, severity, message, rule, f"links.{kind}"))
