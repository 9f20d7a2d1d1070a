"""From links to what is plugged and bought: modules in cages, cables with their ends, fibres.

Modules are counted per device from occupied cages, never over the fabric as a whole: a twin-port module is not shared
by two switches. Both ends of a link light the same fibre with the same signal. Generic parts stand for whatever fits:
they count one a port, and are reported with the real parts that a buyer would order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from fractions import Fraction
from math import gcd
from typing import NamedTuple, TypeVar

from bomgen.connection import SERVER, Adapter, Cage, Unbuildable, adapter_for
from bomgen.fabric.model import Fabric, Fitted, Links
from bomgen.figures import Figure
from bomgen.interconnect.cages import Plugged, cage_of, cages_filled, links_together
from bomgen.interconnect.counts import (
    both_ends,
    cables_of_devices,
    cables_of_links,
    cables_of_rows,
    ends_of_links,
    links_left,
    modules_beside,
    modules_of_reserved,
    modules_of_servers,
    modules_of_switches,
    pieces_of_rows,
    ports_of_last,
    ports_of_machines,
    ports_together,
    slower_end,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
    without_modules_of_others,
)
from bomgen.medium import (
    AUTO,
    COPPER_PAIRS,
    FIBRE,
    PREFER_COPPER,
    RJ45,
    Choice,
    Medium,
    Span,
    Stock,
    Way,
    Wish,
    cables,
    choose,
    metres,
    transceivers,
)
from bomgen.parts import ANY, AVAILABLE, Cable, Identity, Module
from bomgen.problems import PlanErrors, Problem, Severity


class Machines(NamedTuple):
    """Machines on a fabric beside its servers, all alike."""

    pieces: Figure
    ports: Figure
    """Of each."""
    cage: Cage | None
    """None: nobody says, and it is taken for the servers'."""
    port_gbps: Figure | None
    """None: as fast as the links of the fabric."""


class ModuleUse(NamedTuple):
    """Modules of one kind of link in one kind of device."""

    kind: str
    device: str
    module: Module
    quantity: Figure
    ends: Figure
    """Ends of links that they serve."""


class CableUse(NamedTuple):
    """Cables of one kind of link; the part is None when none is known."""

    kind: str
    cable: Cable | None
    length_m: Fraction
    quantity: Figure
    by_route: bool = False
    """Whether there are several lengths, each for the ways over the floor that need it."""


class Alike(NamedTuple):
    """Links of one kind that are built alike, and how."""

    kind: str
    medium: Medium | None
    """None: no part is known."""
    length_m: Fraction
    others: tuple[int, ...] | None
    """The machines beside the servers that they belong to, by their place among all; None: every other link."""
    by_route: bool = False
    """Whether each cable is as long as its way over the floor, and `length_m` is the longest."""


class AdapterUse(NamedTuple):
    """Adapters that let modules of one kind of link sit in the cages of one kind of device."""

    kind: str
    device: str
    adapter: Adapter
    quantity: Figure


class Chosen(NamedTuple):
    """How a kind of link is built, why so, and why not otherwise."""

    kind: str
    way: str | None
    """Medium of the cable, or fibre of the modules; None: no part is known."""
    reason: str
    """Code of why."""
    parts: tuple[str, ...]
    """Ids: the modules from below to above, then the cable."""
    cost: Fraction | None
    """Of a link; None: not all parts have a price."""
    others: tuple[Way, ...]


class Interconnect(NamedTuple):
    """All modules and cables of a fabric, and what is to be said of them."""

    modules: tuple[ModuleUse, ...]
    cables: tuple[CableUse, ...]
    problems: tuple[Problem, ...]
    choices: tuple[Chosen, ...] = ()
    """For each kind of link."""
    alike: tuple[Alike, ...] = ()
    """For each kind of link those of the servers, and apart from them those of other machines."""
    adapters: tuple[AdapterUse, ...] = ()


def connect(
    fabric: Fabric,
    servers: Figure,
    server_cage: Cage,
    others: Sequence[Machines],
    rows: Figure,
    wishes: Mapping[str, Wish],
    stock: Stock,
) -> Interconnect:
    """The modules and cables of a fabric whose servers plug into it with `server_cage`.

    `others` are other machines on it; their links are dealt out to `rows` of leaves: planes, or rails.
    """

    def built(wanted: Mapping[str, Wish]) -> Interconnect:
        builder = _Builder(fabric, servers, server_cage, others, rows, stock)
        for links in fabric.links:
            builder.add(links, wanted[links.kind])
        return builder.result()

    found = built(wishes)
    if not _lacks_cages(found):
        return found
    again = built({kind: wish._replace(share_cages=_is_open(wish)) for kind, wish in wishes.items()})
    return found if _lacks_cages(again) else again


def _is_open(wish: Wish) -> bool:
    """Whether the plan leaves it open how a kind of link is built."""
    return wish.medium.value == AUTO and not wish.modules and not wish.fibre and PREFER_COPPER not in wish.prefer


def _lacks_cages(found: Interconnect) -> bool:
    """Whether different parts need more cages than a switch has."""
    return any(problem.rule == CAGES for problem in found.problems)


CAGES = "cages"
"""The reason code of links that need more cages than there are."""
_FIXED = ("mpo", RJ45)
"""What takes a plug without a module."""


def _same(one: Module | None, other: Module | None) -> bool:
    """Whether two modules are the same part, or neither is there."""
    if one is None or other is None:
        return one is other
    return one.identity.id == other.identity.id and one.ports.value == other.ports.value


def _same_parts(one: Medium | None, other: Medium | None) -> bool:
    """Whether nothing remains to be said of the parts of a medium once another is described."""
    if one is None or other is None:
        return one is other
    same = _same(one.lower, other.lower) and _same(one.upper, other.upper)
    if one.cable is None or other.cable is None:
        return same and one.cable is other.cable
    return same and one.cable.identity.id == other.cable.identity.id


def _no_fibre(links: Links, medium: Medium, receptacles: int) -> str:
    """That no fibre is known between the modules of a kind of link, and why."""
    ends = [module.ports.value for module in (medium.lower, medium.upper) if module]
    start = f"no part known for the fibre of {links.kind} links"
    if min(ends) > receptacles:
        return f"{start}: modules of {min(ends)} links at both ends are joined over a panel, counted a link a piece"
    if max(ends) > receptacles:
        return f"{start}: a module of {max(ends)} links needs a fan-out cable; name modules of one or two links"
    return f"{start}; name modules with a known fibre"


def _of_machines(machines: Sequence[tuple[Figure, Figure]], links_per_piece: Figure) -> Figure:
    """Modules of machines of several kinds, each of which rounds up for itself."""
    total: Figure | None = None
    for pieces, ports in machines:
        count = modules_of_servers(pieces, ports, links_per_piece)
        total = count if total is None else sum_of_modules(total, count)
    if total is None:
        raise ValueError("no machines")
    return total


def _for_others(wish: Wish, span: Span, stock: Stock) -> Medium | None:
    """How the links of machines are built that plug in otherwise than the servers, for which the plan's wish is.

    As the plan wishes where that fits them, else without the module of the server end, else whatever does.
    """
    ends = {end: part for end, part in wish.modules.items() if end != span.lower.device}
    open_wish = wish._replace(medium=Figure(AUTO, "word", wish.medium.origin), modules={}, fibre=None)
    for each in (wish, wish._replace(modules=ends), open_wish):
        with suppress(Unbuildable, LookupError):
            found = choose(each, span, stock).medium
            if found is not None:
                return found
    return None


def _chosen(kind: str, choice: Choice) -> Chosen:
    """What was chosen for a kind of link, as data."""
    medium = choice.medium
    parts = [part.identity.id for part in (medium.lower, medium.upper, medium.cable) if part] if medium else []
    return Chosen(
        kind, medium.way if medium else None, choice.reason, tuple(dict.fromkeys(parts)), choice.cost, choice.others
    )


def _unavailable(identity: Identity) -> str:
    """That a part cannot be ordered."""
    return f"{identity.part_number or identity.id} is {identity.availability.replace('-', ' ')}"


def _plugged(links: Links, span: Span, medium: Medium | None) -> tuple[tuple[Cage, Plugged], ...]:
    """What is in the cages of both ends of a kind of link, the lower end first."""
    found = []
    for cage in (span.lower, span.upper):
        part, carried = None, 1
        module = None if medium is None else medium.lower if cage is span.lower else medium.upper
        if cage.form in _FIXED:
            part = cage.form
        elif module is not None and module.cage != ANY:
            part, carried = module.identity.id, int(module.ports.value)
        elif medium is not None and module is None and medium.cable is not None:
            end = medium.cable.b if cage is span.lower else medium.cable.a
            if end is not None and end.cage != ANY:
                part, carried = medium.cable.identity.id, end.ports
        found.append((cage, Plugged(links, part, carried)))
    return tuple(found)


End = TypeVar("End")


def _at_ends(links: Links, lower: End, upper: End) -> tuple[End, ...]:
    """What is at the ends of a kind of link; where both are devices of one kind, once."""
    return (lower,) if links.beside else (lower, upper)


def _refuse_several_links(links: Links, medium: Medium | None) -> None:
    """Raise Unbuildable for a cable of several links where every two switches have but one."""
    if links.beside and medium and medium.cable and medium.cable.links.value > 1:
        name, count = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} carries {count} links between two devices, {links.kind} links join every two switches singly"
        raise Unbuildable(f"{message}; name a cable of one link, or `medium: auto`", "ports")


class _Share(NamedTuple):
    """The links of one kind that are built alike: those of the servers or, with cages of their own, of others."""

    links: Figure
    lower: Cage
    rate: Figure
    machines: tuple[tuple[Figure, Figure], ...]
    """At the server end: how many, and the ports of each."""
    medium: Medium | None
    others: tuple[int, ...] | None = None
    """The other machines that they belong to, by their place among all; None: servers, and whatever plugs in alike."""

    @property
    def apart(self) -> bool:
        """Whether they are those of other machines."""
        return self.others is not None


class _Builder:
    """Collects the modules and cables of one fabric, kind of link by kind of link."""

    def __init__(
        self,
        fabric: Fabric,
        servers: Figure,
        server_cage: Cage,
        others: Sequence[Machines],
        rows: Figure,
        stock: Stock,
    ) -> None:
        self.fabric, self.servers, self.server_cage, self.stock = fabric, servers, server_cage, stock
        self.others, self.rows = others, rows
        self.modules: list[ModuleUse] = []
        self.cables: list[CableUse] = []
        self.problems: list[Problem] = []
        self.alike: list[Alike] = []
        self.choices: list[Chosen] = []
        self.adapters: list[AdapterUse] = []
        self.placed: dict[str, list[tuple[Links, Module | None]]] = {}
        """By device the kinds of link that are built, each with its module there; None: a cable with both ends."""
        self.plugged: dict[str, list[Plugged]] = {}
        """By device what is in its cages."""

    def add(self, links: Links, wish: Wish) -> None:
        """Build one kind of link."""
        span = self._span(links, wish)
        lower, upper = span.lower, span.upper
        try:
            choice = choose(wish, span, self.stock)
            medium = choice.medium
            _refuse_several_links(links, medium)
        except Unbuildable as error:
            self._problem(wish, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(wish, "error", str(error), "unknown-part", links.kind)
            return
        except PlanErrors as errors:
            for problem in errors.problems:
                self._problem(wish, "error", f"{problem.message} (in {problem.mark})", problem.rule, links.kind)
            return
        self.choices.append(_chosen(links.kind, choice))
        apart = list(self._apart(links, wish, upper)) if lower.device == SERVER else []
        left = links.cabled
        for share in apart:
            left = links_left(left, share.links)
        main = _Share(left, lower, links.rate_gbps, self._alike(links) if lower.device == SERVER else (), medium)
        self._modules(links, main, apart, upper)
        if medium is not None:
            for cage, end in _at_ends(links, (lower, medium.lower), (upper, medium.upper)):
                self.placed.setdefault(cage.device, []).append((links, end))
        for cage, plugged in _at_ends(links, *_plugged(links, span, medium)):
            self.plugged.setdefault(cage.device, []).append(plugged)
        self._check_cages(wish, links)
        told: list[Medium | None] = []
        for share in (main, *apart):
            if share.links.value or share is main:
                self._cable(links, share, wish)
                if share.medium is None:
                    self._nothing_known(links, share, upper, wish)
                elif not any(_same_parts(share.medium, each) for each in told):
                    self._remarks(links, wish, share, upper)
                told.append(share.medium)
                length = share.medium.length_m if share.medium else Fraction(wish.length_m.value)
                self.alike.append(Alike(links.kind, share.medium, length, share.others))

    def _span(self, links: Links, wish: Wish) -> Span:
        """What a kind of link has to join."""
        lower, upper = (self._cage(device, links.rate_gbps) for device in links.ends)
        together = links_together(self.fabric, links)
        leaf = self.fabric.tier(links.ends[1])
        if lower.device == SERVER and leaf is not None and self.rows.value == 1:
            ports = (self.fabric.ports_per_server, *(each.ports for each in self.others))
            together = gcd(leaf.down.value, *(each.value for each in ports))
        return Span(lower, upper, links.rate_gbps, Fraction(wish.length_m.value), together, links.beside)

    def _own_cage(self, machines: Machines, links: Links) -> bool:
        """Whether machines plug in otherwise than the servers do."""
        cage, rate = machines.cage, machines.port_gbps
        slow = rate is not None and rate.value < links.rate_gbps.value
        own = cage is not None and (cage.form, cage.links) != (self.server_cage.form, self.server_cage.links)
        return slow or own

    def _alike(self, links: Links) -> tuple[tuple[Figure, Figure], ...]:
        """The servers, and the machines that plug in as they do: how many, and the ports of each."""
        same = ((each.pieces, each.ports) for each in self.others if not self._own_cage(each, links))
        return ((self.servers, self.fabric.ports_per_server), *same)

    def _apart(self, links: Links, wish: Wish, upper: Cage) -> Iterator[_Share]:
        """The links of machines whose cages are not the servers'."""
        for place, each in enumerate(self.others):
            if not self._own_cage(each, links):
                continue
            rate = links.rate_gbps
            if each.port_gbps is not None and each.port_gbps.value < rate.value:
                rate = slower_end(each.port_gbps, rate)
            cage = each.cage or self.server_cage
            count = ports_of_machines(each.pieces, each.ports)
            span = Span(cage, upper, rate, Fraction(wish.length_m.value))
            found = _for_others(wish, span, self.stock)
            yield _Share(count, cage, rate, ((each.pieces, each.ports),), found, (place,))

    def _modules(self, links: Links, main: _Share, apart: Sequence[_Share], upper: Cage) -> None:
        """The modules at both ends of a kind of link."""
        for share in (main, *apart):
            if share.medium is not None and share.medium.lower is not None and share.lower.form not in _FIXED:
                self._module(links, share.lower, share.medium.lower, self._lower_count(links, share), share.links)
        if upper.form in _FIXED or links.beside:
            return
        ports = main.medium.upper if main.medium is not None else None
        together, others = main.links, []
        for share in apart:
            module = share.medium.upper if share.medium is not None else None
            if _same(module, ports):
                together = sum_of_links(together, share.links)
            else:
                others.append((share, module))
        if ports is not None:
            count = self._of_tier(upper.device, links, ports)
            for share, _ in others:
                count = without_modules_of_others(count, share.links, self.rows, ports.ports)
            self._module(links, upper, ports, count, together)
        for share, module in others:
            if module is not None:
                count = pieces_of_rows(share.links, self.rows, module.ports)
                self._module(links, upper, module, count, share.links)

    def _module(self, links: Links, cage: Cage, module: Module, count: Figure, ends: Figure) -> None:
        """Note modules, together with equal ones of other machines, and the adapters that they sit in."""
        if links.beside:
            ends = ends_of_links(ends, both_ends())
        adapter = adapter_for(cage, module.cage, self.stock.rules())
        if adapter:
            self.adapters.append(AdapterUse(links.kind, cage.device, adapter, count))
        for index, use in enumerate(self.modules):
            if (use.kind, use.device) == (links.kind, cage.device) and _same(use.module, module):
                count, ends = sum_of_modules(use.quantity, count), sum_of_links(use.ends, ends)
                self.modules[index] = ModuleUse(links.kind, cage.device, module, count, ends)
                return
        self.modules.append(ModuleUse(links.kind, cage.device, module, count, ends))

    def _lower_count(self, links: Links, share: _Share, module: Module | None = None) -> Figure:
        """Modules at the lower end of links that are built alike, or of another module there."""
        module = module or (share.medium.lower if share.medium else None)
        if module is None:
            raise ValueError(f"no module for {links.kind} links")
        if share.lower.device != SERVER:
            return self._of_tier(share.lower.device, links, module)
        return _of_machines(share.machines, module.ports)

    def _cable(self, links: Links, share: _Share, wish: Wish) -> None:
        """Note the cables of links that are built alike, together with equal ones of other machines."""
        medium = share.medium
        if medium is not None and medium.cable is None and medium.lower is None:
            return
        cable = medium.cable if medium else None
        length = medium.length_m if medium else Fraction(wish.length_m.value)
        pieces = self._pieces(links, share, cable)
        for index, use in enumerate(self.cables):
            same = cable is None if use.cable is None else cable and cable.identity.id == use.cable.identity.id
            if use.kind == links.kind and same and use.length_m == length:
                self.cables[index] = CableUse(links.kind, cable, length, sum_of_cables(use.quantity, pieces))
                return
        self.cables.append(CableUse(links.kind, cable, length, pieces))

    def result(self) -> Interconnect:
        """What was collected."""
        return Interconnect(
            tuple(self.modules),
            tuple(self.cables),
            tuple(self.problems),
            tuple(self.choices),
            tuple(self.alike),
            tuple(self.adapters),
        )

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _of_tier(self, device: str, links: Links, module: Module) -> Figure:
        """Modules of one kind in all switches at one end of a kind of link."""
        tier = self.fabric.tier(device)
        if tier is None:
            raise ValueError(f"{links.kind} ends at no switch {device}")
        counts = [self._of_switches(fitted, links, module, device) for fitted in tier.fitted]
        total = counts[0]
        for count in counts[1:]:
            total = sum_of_modules(total, count)
        if self.fabric.reserved_above and device == "spine" and links.ends[1] == "spine":
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

    def _pieces(self, links: Links, share: _Share, cable: Cable | None) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(share.links)
        upper = self.fabric.tier(links.ends[1])
        if upper is None:
            raise ValueError(f"{links.kind} ends at no switch")
        if share.medium is not None and share.medium.lower is not None and self._fans_out_below(share.medium):
            if share.machines:
                return _of_machines(share.machines, cable.links)
            below = self.fabric.tier(links.ends[0])
            if below is not None and below.up is not None:
                return cables_of_devices(share.links, below.up, cable.links)
        if share.apart:
            return pieces_of_rows(share.links, self.rows, cable.links)
        if share.machines and self.rows.value > 1:
            return cables_of_rows(share.links, self.rows, upper.down, cable.links)
        return cables_of_devices(share.links, upper.down, cable.links)

    @staticmethod
    def _fans_out_below(medium: Medium) -> bool:
        """Whether one module at the lower end carries several links whose upper ends have one each."""
        lower, upper = medium.lower, medium.upper
        return lower is not None and upper is not None and lower.ports.value > upper.ports.value

    def _nothing_known(self, links: Links, share: _Share, upper: Cage, wish: Wish) -> None:
        lower = share.lower
        message = (
            f"no part known for {links.kind} links of {share.rate.value} Gb/s between {lower.name} "
            f"({lower.described}) and {upper.name} ({upper.described}) over "
            f"{metres(Fraction(wish.length_m.value))} m; name a module, or a generic one"
        )
        self._problem(wish, "warning", message, "no-part-known", links.kind)

    def _remarks(self, links: Links, wish: Wish, share: _Share, upper: Cage) -> None:
        """Warnings about parts that cannot be ordered as they stand."""
        medium = share.medium
        if medium is None:
            return
        used = {module.identity.id: module for module in (medium.upper, medium.lower) if module}
        for module in used.values():
            if module.identity.generic:
                self._problem(
                    wish, "warning", self._real_modules(links, module, share, upper, wish), "generic", links.kind
                )
            elif module.identity.availability != AVAILABLE:
                message = f"{_unavailable(module.identity)}; name another module"
                self._problem(wish, "warning", message, "availability", links.kind)
        cable = medium.cable
        if cable is None:
            message = _no_fibre(links, medium, self.stock.rules().receptacles)
            self._problem(wish, "warning", message, "no-part-known", links.kind)
        elif cable.identity.generic and cable.medium not in (FIBRE, COPPER_PAIRS):
            self._problem(wish, "warning", self._real_cable(links, cable, share, upper, wish), "generic", links.kind)
        elif cable.identity.generic and cable.links.value > 1:
            message = f"{cable.identity.id} is a planning part, counted one a module of {cable.links.value} links"
            self._problem(wish, "warning", f"{message}; its connectors are those of the modules", "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            message = f"{_unavailable(cable.identity)}; name another cable"
            self._problem(wish, "warning", message, "availability", links.kind)

    def _real_modules(self, links: Links, module: Module, share: _Share, upper: Cage, wish: Wish) -> str:
        """What the cages of a link with generic modules really take, with the pieces."""
        lower, span = share.lower, Span(share.lower, upper, share.rate, Fraction(wish.length_m.value))
        real = next(transceivers(span, self.stock), None)
        place = "cage" if module.ports.value > 1 else "port"
        start = f"{module.identity.id} is a planning part, counted one a {place}"
        if real is None or real.lower is None or real.upper is None:
            return f"{start}; no module that can be ordered is known for {links.kind} links of these cages"
        ends = []
        for cage, part in _at_ends(links, (lower, real.lower), (upper, real.upper)):
            if part is None:
                continue
            word = "twin-port modules" if part.ports.value == 2 else "modules"
            if cage is lower:
                count = self._lower_count(links, share, part)
            elif share.apart:
                count = pieces_of_rows(share.links, self.rows, part.ports)
            else:
                count = self._of_tier(cage.device, links, part)
            ends.append(f"a {cage.name} takes {word}, {count.value} x {part.identity.part_number} ({cage.device} end)")
        return f"{start}; to order: {' and '.join(ends)}"

    def _real_cable(self, links: Links, cable: Cable, share: _Share, upper: Cage, wish: Wish) -> str:
        lower, span = share.lower, self._span(links, wish)._replace(lower=share.lower, rate=share.rate)
        real = next(cables(cable.medium, span, self.stock), None)
        start = f"{cable.identity.id} is a planning part, counted one a link"
        if real is None or real.cable is None:
            twin = f"a {upper.name} cage takes twin-port parts" if upper.links == 2 else f"a {upper.name} cage"
            return (
                f"{start}; {twin}, and no {cable.medium.upper()} that fits it and the {lower.form} cage of "
                f"{lower.name} is known: ask the vendor, or choose transceivers"
            )
        return f"{start}; to order: {real.cable.identity.part_number}"

    def _check_cages(self, wish: Wish, links: Links) -> None:
        """Different parts do not share a cage: the links of a switch must not fill more cages than there are."""
        for device in dict.fromkeys(links.ends):
            tier = self.fabric.tier(device)
            found = cages_filled(tier, self.plugged.get(device, ())) if tier else None
            if tier is None or found is None or found[0] <= found[1]:
                continue
            up = f" and {tier.up.value} up" if tier.up else ""
            message = (
                f"{tier.down.value} links down{up} with different parts fill {found[0]} cages; "
                f"a {tier.switch.identity.name} has {found[1]}: use one module for both, or even numbers of links"
            )
            self._problem(wish, "error", message, CAGES, links.kind)

    def _problem(self, wish: Wish, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(wish.mark, severity, message, rule, f"links.{kind}"))
