"""From links to what is plugged and bought: modules in cages, cables with their ends, fibres.

Modules are counted per device from occupied cages, never over the fabric as a whole: a twin-port module is not shared
by two switches. Both ends of a link light the same fibre with the same signal. Generic parts stand for whatever fits:
they count one a port, and are reported with the real parts that a buyer would order.

A module in a `Medium` has as ports the links that it carries in its cage: two of a twin-port module, four of one whose
engines are split, one of a NIC's module that runs as a leg of a splitter. Counting then needs to know of nothing else.
Parts that serve several links of a leaf are counted leaf by leaf: the endpoints of each leaf are known, and every leaf
rounds up for itself. Other machines that are connected in another way than the servers begin a cage of their own; a
leaf that has too few for that is refused, planning parts excepted. Links for which no part is known come last.

Machines other than servers have cages of their own where the plan or the catalogue gives them; their links are then
built separately, against the same cages of the leaves. Otherwise they are taken to have the servers' cages, which is an
assumption of the report. What is equal is counted together, so that a bill has no two lines of one part for one end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import gcd

from bomgen.catalog.parts import AVAILABLE, Cable, Module
from bomgen.core.diagnostics import PlanErrors, Problem, Severity
from bomgen.core.provenance import Figure, known
from bomgen.fabric.types import Fabric, Fitted, Links
from bomgen.optics.compatibility import SERVER, Cage, Unbuildable, adapter_for
from bomgen.optics.counting.by_leaf import (
    and_machines,
    and_next,
    ends_of_machines,
    ends_with_reserved,
    ends_with_servers,
    no_machines,
    none_apart,
    one_fabric,
    overfull,
    pieces_by_leaf,
    places_beside,
    whole_cages,
    without_others,
)
from bomgen.optics.counting.cages import Plugged, cage_of, cages_filled, links_together
from bomgen.optics.counting.formulas import (
    both_ends,
    cables_of_devices,
    cables_of_links,
    ends_of_links,
    links_left,
    modules_behind,
    modules_beside,
    modules_of_reserved,
    modules_of_switches,
    ports_of_last,
    ports_of_machines,
    ports_together,
    slower_end,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
)
from bomgen.optics.counting.shares import (
    FIXED,
    Share,
    at_ends,
    chosen_of,
    for_others,
    part_above,
    pieces_of_machines,
    planned,
    plugged_by,
    refuse_several_links,
    same_module,
    same_parts,
    unavailable,
    without_fibre,
)
from bomgen.optics.counting.uses import (
    JUMPER,
    TRUNKED,
    AdapterUse,
    Alike,
    CableUse,
    Chosen,
    Interconnect,
    Machines,
    ModuleUse,
    PanelUse,
)
from bomgen.optics.selection import (
    AUTO,
    COPPER_PAIRS,
    FIBRE,
    PREFER_COPPER,
    SHARING,
    Medium,
    Span,
    Stock,
    Wish,
    cables,
    choose,
    metres,
    transceivers,
)

__all__ = [
    "JUMPER",
    "TRUNKED",
    "AdapterUse",
    "Alike",
    "CableUse",
    "Chosen",
    "Interconnect",
    "Machines",
    "ModuleUse",
    "PanelUse",
    "connect",
    "part_above",
]


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
    for ways in SHARING:
        again = built(
            {kind: wish._replace(share_cages=ways if _is_open(wish) else ()) for kind, wish in wishes.items()}
        )
        if not _lacks_cages(again) and all(each.way for each in again.choices):
            return again
    return found


def _is_open(wish: Wish) -> bool:
    """Whether the plan leaves it open how a kind of link is built."""
    return wish.medium.value == AUTO and not wish.modules and not wish.fibre and PREFER_COPPER not in wish.prefer


def _lacks_cages(found: Interconnect) -> bool:
    """Whether different parts need more cages than a switch has."""
    return any(problem.rule == CAGES for problem in found.problems)


CAGES = "cages"
"""The reason code of links that need more cages than there are."""


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
        self.choices: list[Chosen] = []
        self.adapters: list[AdapterUse] = []
        self.placed: dict[str, list[tuple[Links, Module | None]]] = {}
        """By device the kinds of link that are built, each with its module there; None: a cable with both ends."""
        self.plugged: dict[str, list[Plugged]] = {}
        """By device what is in its cages."""
        self.alike: list[Alike] = []

    def add(self, links: Links, wish: Wish) -> None:
        """Build one kind of link."""
        span = self._span(links, wish)
        lower, upper = span.lower, span.upper
        try:
            choice = choose(wish, span, self.stock)
            medium = choice.medium
            refuse_several_links(links, medium)
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
        self.choices.append(chosen_of(links.kind, choice))
        apart = list(self._apart(links, wish, upper)) if lower.device == SERVER else []
        left = links.cabled
        for share in apart:
            left = links_left(left, share.links)
        main = Share(left, lower, links.rate_gbps, self._alike(links) if lower.device == SERVER else (), medium)
        self._modules(links, main, apart, upper)
        if medium is not None:
            for cage, end in at_ends(links, (lower, medium.lower), (upper, medium.upper)):
                self.placed.setdefault(cage.device, []).append((links, end))
        for cage, plugged in at_ends(links, *plugged_by(links, span, medium)):
            self.plugged.setdefault(cage.device, []).append(plugged)
        self._check_cages(wish, links)
        self._check_leaves(wish, links, main, apart, upper)
        told: list[Medium | None] = []
        for share in (main, *apart):
            self._cable(links, share, wish, apart)
            if share.medium is None:
                self._nothing_known(links, share, upper, wish)
            elif not any(same_parts(share.medium, each) for each in told):
                self._remarks(links, wish, share, share.medium, upper)
            told.append(share.medium)
            length = share.medium.length_m if share.medium else Fraction(wish.length_m.value)
            self.alike.append(Alike(links.kind, share.medium, length, share.rate, share.others))

    def _span(self, links: Links, wish: Wish) -> Span:
        """What a kind of link has to join."""
        lower, upper = (self._cage(device, links.rate_gbps) for device in links.ends)
        together = links_together(self.fabric, links)
        leaf = self.fabric.tier(links.ends[1])
        if lower.device == SERVER and leaf is not None and self.rows.value == 1:
            ports = (self.fabric.ports_per_server, *(each.ports for each in self.others))
            together = gcd(leaf.down.value, *(each.value for each in ports))
        return Span(
            lower, upper, links.rate_gbps, Fraction(wish.length_m.value), together, links.beside, bool(wish.panels)
        )

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

    def _apart(self, links: Links, wish: Wish, upper: Cage) -> Iterator[Share]:
        """The links of machines whose cages are not the servers'."""
        for place, each in enumerate(self.others):
            if not self._own_cage(each, links):
                continue
            rate = links.rate_gbps
            if each.port_gbps is not None and each.port_gbps.value < rate.value:
                rate = slower_end(each.port_gbps, rate)
            cage = each.cage or self.server_cage
            count = ports_of_machines(each.pieces, each.ports)
            span = Span(cage, upper, rate, Fraction(wish.length_m.value), over_panels=bool(wish.panels))
            found = for_others(wish, span, self.stock)
            yield Share(count, cage, rate, ((each.pieces, each.ports),), found, (place,))

    def _modules(self, links: Links, main: Share, apart: Sequence[Share], upper: Cage) -> None:
        """The modules at both ends of a kind of link."""
        for share in (main, *apart):
            if share.medium is not None and share.medium.lower is not None and share.lower.form not in FIXED:
                self._module(links, share.lower, share.medium.lower, self._lower_count(links, share), share.links)
        if upper.form in FIXED or links.beside:
            return
        ports = main.medium.upper if main.medium is not None else None
        together, others = main.links, []
        for share in apart:
            module = share.medium.upper if share.medium is not None else None
            if same_module(module, ports):
                together = sum_of_links(together, share.links)
            else:
                others.append((share, module))
        if ports is not None:
            count = self._beside_others(links, upper, ports, [share for share, _ in others])
            self._module(links, upper, ports, count, together)
        for share, module in others:
            if module is not None:
                self._module(links, upper, module, pieces_by_leaf(self._ends(share), module.ports), share.links)

    def _beside_others(self, links: Links, upper: Cage, module: Module, others: Sequence[Share]) -> Figure:
        """Modules of the upper switches of a kind of link, without cages that hold something else."""
        tier = self.fabric.tier(upper.device)
        count = self._of_tier(upper.device, links, module)
        if tier is None or not others:
            return count
        known = [share for share in others if part_above(share.medium)]
        unknown = [share for share in others if share not in known]
        if any(fitted.down.value != tier.down.value for fitted in tier.fitted):
            count = pieces_by_leaf(ends_with_reserved(*self._seats(), self._rest(known)), module.ports)
        else:
            for share in known:
                count = without_others(count, pieces_by_leaf(self._ends(share), module.ports))
        if unknown:
            places = (self._places(unknown), self._places(known))
            count = without_others(count, whole_cages(*self._seats(), *places, module.ports))
        return count

    def _seats(self) -> tuple[Figure, Figure, Figure]:
        """Who hangs on which leaf: the seats of one fabric, how many are equal, the ports of other machines by kind."""
        seats = known((self.fabric.plane or self.fabric).seats, "a fabric without switches seats nobody")
        ports = no_machines()
        for each in self.others:
            ports = and_machines(ports, each.pieces, each.ports)
        return seats, self.fabric.planes or one_fabric(), ports

    def _places(self, shares: Sequence[Share]) -> Figure:
        """The kinds of machines that links belong to."""
        places, ports = none_apart(), no_machines()
        wanted = {place for share in shares for place in share.others or ()}
        for place, each in enumerate(self.others):
            places = and_next(places, ports) if place in wanted else places
            ports = and_machines(ports, each.pieces, each.ports)
        return places

    def _rest(self, apart: Sequence[Share]) -> Figure:
        """The kinds of machines whose links are not built apart."""
        return places_beside(self._seats()[-1], self._places(apart))

    def _ends(self, share: Share) -> Figure:
        """The ends of links of machines by leaf."""
        return ends_of_machines(*self._seats(), self._places((share,)))

    def _module(self, links: Links, cage: Cage, module: Module, count: Figure, ends: Figure) -> None:
        """Note modules, together with equal ones of other machines, and the adapters that they sit in."""
        if links.beside:
            ends = ends_of_links(ends, both_ends())
        adapter = adapter_for(cage, module.cage, self.stock.rules())
        if adapter:
            self.adapters.append(AdapterUse(links.kind, cage.device, adapter, count))
        for index, use in enumerate(self.modules):
            if (use.kind, use.device) == (links.kind, cage.device) and same_module(use.module, module):
                count, ends = sum_of_modules(use.quantity, count), sum_of_links(use.ends, ends)
                self.modules[index] = ModuleUse(links.kind, cage.device, module, count, ends)
                return
        self.modules.append(ModuleUse(links.kind, cage.device, module, count, ends))

    def _lower_count(self, links: Links, share: Share, module: Module | None = None) -> Figure:
        """Modules at the lower end of links that are built alike, or of another module there."""
        module = module or known(share.medium and share.medium.lower, f"no module for {links.kind} links")
        if share.lower.device != SERVER:
            return self._of_tier(share.lower.device, links, module)
        return pieces_of_machines(share.machines, module.ports)

    def _cable(self, links: Links, share: Share, wish: Wish, apart: Sequence[Share]) -> None:
        """Note the cables of links that are built alike, together with equal ones of other machines."""
        medium = share.medium
        cable = medium.cable if medium else None
        length = medium.length_m if medium else Fraction(wish.length_m.value)
        pieces = self._pieces(links, share, cable, apart)
        for index, use in enumerate(self.cables):
            same = cable is None if use.cable is None else cable and cable.identity.id == use.cable.identity.id
            if use.kind == links.kind and same and use.length_m == length:
                self.cables[index] = CableUse(links.kind, cable, length, sum_of_cables(use.quantity, pieces))
                return
        self.cables.append(CableUse(links.kind, cable, length, pieces))

    def result(self) -> Interconnect:
        """What was collected."""
        return Interconnect(
            modules=tuple(self.modules),
            cables=tuple(self.cables),
            problems=tuple(self.problems),
            choices=tuple(self.choices),
            adapters=tuple(self.adapters),
            alike=tuple(self.alike),
        )

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _of_tier(self, device: str, links: Links, module: Module) -> Figure:
        """Modules of one kind in all switches at one end of a kind of link."""
        tier = known(self.fabric.tier(device), f"{links.kind} ends at no switch {device}")
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
            if placed is not None and same_module(placed, module) and other.kind != links.kind:
                more = self._ports(fitted, other, device)
                beside = more if beside is None else ports_together(beside, more)
        if beside is None:
            return modules_of_switches(fitted.count, ports, module.ports)
        tier = self.fabric.tier(device)
        if tier is not None and fitted.down.value != tier.down.value and links.ends[0] == device:
            return modules_behind(fitted.count, ports, tier.down, module.ports)
        return modules_beside(fitted.count, ports, beside, module.ports)

    def _ports(self, fitted: Fitted, links: Links, device: str) -> Figure:
        """Ports that a kind of link has on each of equal switches.

        Of several kinds side by side all but the last have the same number on every switch, and the last has the rest.
        """
        ports = fitted.down if links.ends[1] == device and not links.beside else fitted.up
        missing = f"a {device} has no ports for {links.kind} links"
        ports = known(ports, missing)
        if not links.beside:
            return ports
        kinds = [each for each in self.fabric.links if each.beside and device in each.ends]
        if links.kind != kinds[-1].kind:
            return known(links.ports, missing)
        for other in kinds[:-1]:
            ports = ports_of_last(ports, known(other.ports, missing))
        return ports

    def _pieces(self, links: Links, share: Share, cable: Cable | None, apart: Sequence[Share]) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(share.links)
        upper = known(self.fabric.tier(links.ends[1]), f"{links.kind} ends at no switch")
        if share.medium is not None and share.medium.begins_below:
            if share.machines:
                return pieces_of_machines(share.machines, cable.links)
            below = known(self.fabric.tier(links.ends[0]), f"{links.kind} begins at no switch")
            uplinks = known(below.up, f"{links.kind} is no way up")
            return cables_of_devices(share.links, uplinks, cable.links)
        if share.apart:
            return pieces_by_leaf(self._ends(share), cable.links)
        if share.machines:
            return pieces_by_leaf(ends_with_servers(*self._seats(), self._rest(apart)), cable.links)
        return cables_of_devices(share.links, upper.down, cable.links)

    def _nothing_known(self, links: Links, share: Share, upper: Cage, wish: Wish) -> None:
        lower = share.lower
        message = (
            f"no part known for {links.kind} links of {share.rate.value} Gb/s between {lower.name} "
            f"({lower.described}) and {upper.name} ({upper.described}) over "
            f"{metres(Fraction(wish.length_m.value))} m; name a module, or a generic one"
        )
        self._problem(wish, "warning", message, "no-part-known", links.kind)

    def _remarks(self, links: Links, wish: Wish, share: Share, medium: Medium, upper: Cage) -> None:
        """Warnings about parts that cannot be ordered as they stand."""
        used = {module.identity.id: module for module in (medium.upper, medium.lower) if module}
        for module in used.values():
            if module.identity.generic:
                self._problem(
                    wish, "warning", self._real_modules(links, module, share, upper, wish), "generic", links.kind
                )
            elif module.identity.availability != AVAILABLE:
                message = f"{unavailable(module.identity)}; name another module"
                self._problem(wish, "warning", message, "availability", links.kind)
        cable = medium.cable
        if cable is None:
            message = without_fibre(links, medium, self.stock.rules().receptacles)
            self._problem(wish, "warning", message, "no-part-known", links.kind)
        elif cable.identity.generic and cable.medium not in (FIBRE, COPPER_PAIRS):
            self._problem(wish, "warning", self._real_cable(links, cable, share, upper, wish), "generic", links.kind)
        elif cable.identity.generic and cable.links.value > 1:
            message = f"{cable.identity.id} is a planning part, counted one a module of {cable.links.value} links"
            self._problem(wish, "warning", f"{message}; its connectors are those of the modules", "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            message = f"{unavailable(cable.identity)}; name another cable"
            self._problem(wish, "warning", message, "availability", links.kind)

    def _real_modules(self, links: Links, module: Module, share: Share, upper: Cage, wish: Wish) -> str:
        """What the cages of a link with generic modules really take, with the pieces."""
        lower, span = share.lower, Span(share.lower, upper, share.rate, Fraction(wish.length_m.value))
        real = next(transceivers(span, self.stock), None)
        place = "cage" if module.ports.value > 1 else "port"
        start = f"{module.identity.id} is a planning part, counted one a {place}"
        if real is None or real.lower is None or real.upper is None:
            return f"{start}; no module that can be ordered is known for {links.kind} links of these cages"
        ends = []
        for cage, part in at_ends(links, (lower, real.lower), (upper, real.upper)):
            word = "twin-port modules" if part.ports.value == 2 else "modules"
            if cage is lower:
                count = self._lower_count(links, share, part)
            elif share.apart:
                count = pieces_by_leaf(self._ends(share), part.ports)
            else:
                count = self._of_tier(cage.device, links, part)
            ends.append(f"a {cage.name} takes {word}, {count.value} x {part.identity.part_number} ({cage.device} end)")
        return f"{start}; to order: {' and '.join(ends)}"

    def _real_cable(self, links: Links, cable: Cable, share: Share, upper: Cage, wish: Wish) -> str:
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

    def _check_leaves(self, wish: Wish, links: Links, main: Share, apart: Sequence[Share], upper: Cage) -> None:
        """Links of other machines that are built otherwise share no cage of a leaf with those of the servers."""
        tier, own = self.fabric.tier(upper.device), part_above(main.medium)
        shares = [share for share in apart if part_above(share.medium) not in (own, None) and not planned(share.medium)]
        if tier is None or upper.links == 1 or not shares:
            return
        seats, fabrics, ports = (figure.value for figure in self._seats())
        found = overfull(seats, fabrics, ports, self._places(shares).value, int(tier.down.value), upper.links)
        if found:
            names = " and ".join(share.lower.name for share in shares)
            message = (
                f"links of {names} are plugged in otherwise than those of the servers: on a {tier.name} they fill "
                f"{found[0]} cages together, {found[1]} face down; name one module for both, or leave ports free with "
                f"`{tier.name}: {{downlinks: {tier.down.value - 1}}}`"
            )
            self._problem(wish, "error", message, CAGES, links.kind)

    def _problem(self, wish: Wish, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(wish.mark, severity, message, rule, f"links.{kind}"))
