"""From links to what is plugged and bought: modules in cages, cables with their ends, fibres.

Modules are counted per device from occupied cages, never over the fabric as a whole: a twin-port module is not shared
by two switches. Both ends of a link light the same fibre with the same signal. Generic parts stand for whatever fits:
they count one a port, and are reported with the real parts that a buyer would order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from math import ceil
from typing import NamedTuple, TypeVar

from bomgen.fabric.model import Fabric, Fitted, Links, Tier
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


@formula("ports")
def ports_together(ports: int, more_ports: int) -> int:
    """Ports of a switch whose links are built with the same module."""
    return ports + more_ports


@formula("ports")
def ports_of_last(up: int, others: int) -> int:
    """Ports to other switches that are left for the last kind of link between them."""
    return up - others


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


End = TypeVar("End")


def _at_ends(links: Links, lower: End, upper: End) -> tuple[End, ...]:
    """What is at the ends of a kind of link; where both are devices of one kind, once."""
    return (lower,) if links.beside else (lower, upper)


def _on_full_switch(tier: Tier, links: Links) -> int:
    """Ports of a kind of link on a fully connected switch."""
    ports = links.ports if links.beside else tier.down if links.ends[1] == tier.name else tier.up
    return int(ports.value) if ports else 0


def _stock_for(links: Links, stock: Stock) -> Stock:
    """What a kind of link may be built of: two switches side by side share no several links that one cable carries."""
    if not links.beside:
        return stock
    return stock._replace(cables=lambda medium: [each for each in stock.cables(medium) if each.links.value == 1])


def _refuse_several_links(links: Links, medium: Medium | None) -> None:
    """Raise Unbuildable for a cable of several links where every two switches have but one."""
    if links.beside and medium and medium.cable and medium.cable.links.value > 1:
        name, count = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} carries {count} links between two devices, {links.kind} links join every two switches singly"
        raise Unbuildable(f"{message}; name a cable of one link, or `medium: auto`", "ports")


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
        self.placed: dict[str, list[tuple[Links, Module | None]]] = {}
        """By device the kinds of link that are built, each with its module there; None: a cable with both ends."""

    def add(self, links: Links, wish: Wish) -> None:
        """Build one kind of link."""
        lower, upper = (self._cage(device, links.rate_gbps) for device in links.ends)
        try:
            medium = choose(wish, lower, upper, links.rate_gbps, _stock_for(links, self.stock))
            _refuse_several_links(links, medium)
        except Unbuildable as error:
            self._problem(wish, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(wish, "error", str(error), "unknown-part", links.kind)
            return
        if medium is None:
            self._nothing_known(links, lower, upper, wish)
            return
        if medium.lower is not None and medium.upper is not None:
            for cage, module in _at_ends(links, (lower, medium.lower), (upper, medium.upper)):
                if cage.form not in ("mpo", RJ45):
                    self.modules.append(ModuleUse(links.kind, cage.device, module, self._count(cage, links, module)))
        for cage, end in _at_ends(links, (lower, medium.lower), (upper, medium.upper)):
            self.placed.setdefault(cage.device, []).append((links, end))
        if medium.cable is not None or medium.lower is not None:
            self.cables.append(CableUse(links.kind, medium.cable, medium.length_m, self._pieces(links, medium.cable)))
        self._remarks(links, wish, medium, lower, upper)

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
        counts = [self._of_switches(fitted, links, module, cage.device) for fitted in tier.fitted]
        total = counts[0]
        for count in counts[1:]:
            total = sum_of_modules(total, count)
        if self.fabric.reserved_above and cage.device == "spine" and links.ends[1] == "spine":
            total = sum_of_modules(total, modules_of_reserved(self.fabric.reserved_above, module.ports))
        return total

    def _of_switches(self, fitted: Fitted, links: Links, module: Module, device: str) -> Figure:
        """Modules of one kind of link in equal switches, beside those of earlier kinds with the same module."""
        ports = self._ports(fitted, links, device)
        beside: Figure | None = None
        for other, placed in self.placed.get(device, ()):
            if placed is not None and placed.identity.id == module.identity.id and other.kind != links.kind:
                more = self._ports(fitted, other, device)
                beside = more if beside is None else ports_together(beside, more)
        if beside is None:
            return modules_of_switches(fitted.count, ports, module.ports)
        return modules_beside(fitted.count, ports, beside, module.ports)

    def _ports(self, fitted: Fitted, links: Links, device: str) -> Figure:
        """Ports that a kind of link has on each of equal switches.

        Of several kinds side by side all but the last have the same number on every switch, and the last has the rest.
        """
        ports = fitted.down if links.ends[1] == device and not links.beside else fitted.up
        if ports is None or (links.beside and links.ports is None):
            raise ValueError(f"a {device} has no ports for {links.kind} links")
        if not links.beside:
            return ports
        kinds = [each for each in self.fabric.links if each.beside and device in each.ends]
        if links.ports is not None and links.kind != kinds[-1].kind:
            return links.ports
        for other in kinds[:-1]:
            if other.ports is not None:
                ports = ports_of_last(ports, other.ports)
        return ports

    def _pieces(self, links: Links, cable: Cable | None) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(links.cabled)
        upper = self.fabric.tier(links.ends[1])
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

    def _remarks(self, links: Links, wish: Wish, medium: Medium, lower: Cage, upper: Cage) -> None:
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
        self._check_cages(wish, links)

    def _real_modules(self, links: Links, module: Module, lower: Cage, upper: Cage, wish: Wish) -> str:
        """What the cages of a link with generic modules really take, with the pieces."""
        length, rate = Fraction(wish.length_m.value), int(links.rate_gbps.value)
        real = next(transceivers(lower, upper, rate, length, self.stock), None)
        start = f"{module.identity.id} is a planning part, counted one a port"
        if real is None or real.lower is None or real.upper is None:
            return f"{start}; no module that can be ordered is known for {links.kind} links of these cages"
        ends = []
        for cage, part in _at_ends(links, (lower, real.lower), (upper, real.upper)):
            if part is None:
                continue
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

    def _check_cages(self, wish: Wish, links: Links) -> None:
        """Different modules do not share a cage: the links of a switch must not fill more cages than there are."""
        tier, placed = self.fabric.tier(links.ends[0]), self.placed.get(links.ends[0], [])
        modules = {module.identity.id: module for _, module in placed if module is not None}
        if tier is None or tier.up is None or len(modules) < 2 or any(module is None for _, module in placed):
            return
        if len(tier.switch.groups) > 1 or any(module.cage == ANY for module in modules.values()):
            return
        group = next(group for group in tier.switch.groups if serves(group, links.rate_gbps))
        cages = group.ports.value // group.ports_per_cage.value
        filled = 0
        for id, each in modules.items():
            kinds = [kind for kind, module in placed if module is not None and module.identity.id == id]
            filled += ceil(sum(_on_full_switch(tier, kind) for kind in kinds) / each.ports.value)
        if filled > cages:
            message = (
                f"{tier.down.value} links down and {tier.up.value} up with different modules fill {filled} cages; "
                f"a {tier.switch.identity.name} has {cages}: use one module for both, or even numbers of links"
            )
            self._problem(wish, "error", message, "cages", links.kind)

    def _problem(self, wish: Wish, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(wish.mark, severity, message, rule, f"links.{kind}"))
