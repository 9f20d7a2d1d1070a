"""From the links of a fabric to the parts that are bought: modules in cages, cables, fibres and adapters.

Modules are counted per device from occupied cages, never over the fabric as a whole: two switches do not share a
twin-port module. Generic parts stand for whatever fits: they count one per port and are reported with the real parts
that a buyer would order.

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
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Figure, require
from bomgen.fabric.types import Fabric, Fitted, Links
from bomgen.optics.compatibility import SERVER, Cage, Unbuildable, adapter_for
from bomgen.optics.counting.by_leaf import (
    EMPTY_KINDS,
    EMPTY_PORTS,
    SINGLE_FABRIC,
    append_kind,
    append_machines,
    cage_shortage,
    machine_ends,
    pieces_by_leaf,
    server_and_reserved_ends,
    server_ends,
    shared_kinds,
    subtract_cages,
    whole_cages,
)
from bomgen.optics.counting.cages import Plugged, cage_of, count_filled_cages, parallel_links
from bomgen.optics.counting.formulas import (
    BOTH_ENDS,
    cables_of_devices,
    cables_of_links,
    ends_of_links,
    links_left,
    modules_after_others,
    modules_from_port,
    modules_of_switches,
    ports_of_machines,
    remaining_ports,
    reserved_modules,
    slower_rate,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
    sum_of_ports,
)
from bomgen.optics.counting.shares import (
    FIXED,
    EndpointGroup,
    choose_medium,
    chosen,
    distinct_ends,
    is_planning_part,
    machine_modules,
    missing_fibre_message,
    plugs_at_ends,
    refuse_several_links,
    same_module,
    same_parts,
    unavailable_message,
    upper_cage_part,
)
from bomgen.optics.counting.uses import (
    JUMPER,
    TRUNKED,
    AdapterUse,
    AttachedHosts,
    CableUse,
    Chosen,
    Interconnect,
    LinkGroup,
    ModuleUse,
    PanelUse,
)
from bomgen.optics.selection import (
    AUTO,
    COPPER_PAIRS,
    FIBRE,
    PREFER_COPPER,
    SHARING,
    LinkSpec,
    Medium,
    PartsLookup,
    Span,
    cables,
    choose,
    metres,
    transceivers,
)

__all__ = [
    "JUMPER",
    "TRUNKED",
    "AdapterUse",
    "AttachedHosts",
    "CableUse",
    "Chosen",
    "Interconnect",
    "LinkGroup",
    "ModuleUse",
    "PanelUse",
    "connect",
    "upper_cage_part",
]


def connect(
    fabric: Fabric,
    servers: Figure,
    server_cage: Cage,
    others: Sequence[AttachedHosts],
    rows: Figure,
    specs: Mapping[str, LinkSpec],
    parts: PartsLookup,
) -> Interconnect:
    """The modules and cables of a fabric whose servers connect with `server_cage`.

    `others` are the other machines on the fabric; their links are distributed over `rows` of leaves: planes, or rails.
    What cannot be built is among the problems of the result.
    """

    def built(wanted: Mapping[str, LinkSpec]) -> Interconnect:
        builder = _Builder(fabric, servers, server_cage, others, rows, parts)
        for links in fabric.links:
            builder.add(links, wanted[links.kind])
        return builder.result()

    found = built(specs)
    if not _lacks_cages(found):
        return found
    for options in SHARING:
        again = built(
            {kind: spec._replace(allowed_options=options if _is_open(spec) else ()) for kind, spec in specs.items()}
        )
        if not _lacks_cages(again) and all(each.option for each in again.choices):
            return again
    return found


def _is_open(spec: LinkSpec) -> bool:
    """Whether the plan leaves the medium of a kind of link open."""
    return spec.medium.value == AUTO and not spec.modules and not spec.fibre and PREFER_COPPER not in spec.prefer


def _lacks_cages(found: Interconnect) -> bool:
    """Whether different parts need more cages than a switch has."""
    return any(problem.rule == CAGES for problem in found.problems)


CAGES = "cages"
"""Reason code: the links need more cages than there are."""


class _Builder:
    """Collects the modules and cables of one fabric, kind of link by kind of link."""

    def __init__(
        self,
        fabric: Fabric,
        servers: Figure,
        server_cage: Cage,
        others: Sequence[AttachedHosts],
        rows: Figure,
        parts: PartsLookup,
    ) -> None:
        self.fabric, self.servers, self.server_cage, self.parts = fabric, servers, server_cage, parts
        self.others, self.rows = others, rows
        self.modules: list[ModuleUse] = []
        self.cables: list[CableUse] = []
        self.problems: list[Problem] = []
        self.choices: list[Chosen] = []
        self.adapters: list[AdapterUse] = []
        self.placed: dict[str, list[tuple[Links, Module | None]]] = {}
        """By device: the kinds of link built so far, each with its module there; None: a cable with fixed ends."""
        self.plugged: dict[str, list[Plugged]] = {}
        """By device: what its cages hold."""
        self.link_groups: list[LinkGroup] = []

    def add(self, links: Links, spec: LinkSpec) -> None:
        """Build one kind of link."""
        span = self._span(links, spec)
        lower, upper = span.lower, span.upper
        try:
            choice = choose(spec, span, self.parts)
            medium = choice.medium
            refuse_several_links(links, medium)
        except Unbuildable as error:
            self._problem(spec, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(spec, "error", str(error), "unknown-part", links.kind)
            return
        except PlanErrors as errors:
            for problem in errors.problems:
                self._problem(spec, "error", f"{problem.message} (in {problem.mark})", problem.rule, links.kind)
            return
        self.choices.append(chosen(links.kind, choice))
        separate = list(self._separate_groups(links, spec, upper)) if lower.device == SERVER else []
        left = links.cabled
        for group in separate:
            left = links_left(left, group.links)
        machines = self._server_machines(links) if lower.device == SERVER else ()
        main = EndpointGroup(left, lower, links.rate_gbps, machines, medium)
        self._modules(links, main, separate, upper)
        if medium is not None:
            for cage, end in distinct_ends(links, (lower, medium.lower), (upper, medium.upper)):
                self.placed.setdefault(cage.device, []).append((links, end))
        for cage, plugged in distinct_ends(links, *plugs_at_ends(links, span, medium)):
            self.plugged.setdefault(cage.device, []).append(plugged)
        self._check_cages(spec, links)
        self._check_leaves(spec, links, main, separate, upper)
        described: list[Medium | None] = []
        for group in (main, *separate):
            self._cable(links, group, spec, separate)
            if group.medium is None:
                self._unknown_part_warning(links, group, upper, spec)
            elif not any(same_parts(group.medium, each) for each in described):
                self._part_warnings(links, spec, group, group.medium, upper)
            described.append(group.medium)
            length = group.medium.length_m if group.medium else Fraction(spec.length_m.value)
            self.link_groups.append(LinkGroup(links.kind, group.medium, length, group.rate, group.others))

    def _span(self, links: Links, spec: LinkSpec) -> Span:
        """What a kind of link connects."""
        lower, upper = (self._cage(device, links.rate_gbps) for device in links.ends)
        together = parallel_links(self.fabric, links)
        leaf = self.fabric.tier(links.ends[1])
        if lower.device == SERVER and leaf is not None and self.rows.value == 1:
            ports = (self.fabric.ports_per_server, *(each.ports for each in self.others))
            together = gcd(leaf.down.value, *(each.value for each in ports))
        return Span(
            lower, upper, links.rate_gbps, Fraction(spec.length_m.value), together, links.within_tier, bool(spec.panels)
        )

    def _has_own_plug(self, machines: AttachedHosts, links: Links) -> bool:
        """Whether machines have another cage or a slower rate than the servers."""
        cage, rate = machines.cage, machines.port_gbps
        slow = rate is not None and rate.value < links.rate_gbps.value
        own = cage is not None and (cage.form, cage.links) != (self.server_cage.form, self.server_cage.links)
        return slow or own

    def _server_machines(self, links: Links) -> tuple[tuple[Figure, Figure], ...]:
        """(Number, ports per machine) of the servers and of each kind of machine with the same cages."""
        same = ((each.pieces, each.ports) for each in self.others if not self._has_own_plug(each, links))
        return ((self.servers, self.fabric.ports_per_server), *same)

    def _separate_groups(self, links: Links, spec: LinkSpec, upper: Cage) -> Iterator[EndpointGroup]:
        """The groups of machines with other cages or rates than the servers."""
        for place, each in enumerate(self.others):
            if not self._has_own_plug(each, links):
                continue
            rate = links.rate_gbps
            if each.port_gbps is not None and each.port_gbps.value < rate.value:
                rate = slower_rate(each.port_gbps, rate)
            cage = each.cage or self.server_cage
            count = ports_of_machines(each.pieces, each.ports)
            span = Span(cage, upper, rate, Fraction(spec.length_m.value), over_panels=bool(spec.panels))
            found = choose_medium(spec, span, self.parts)
            yield EndpointGroup(count, cage, rate, ((each.pieces, each.ports),), found, (place,))

    def _modules(self, links: Links, main: EndpointGroup, separate: Sequence[EndpointGroup], upper: Cage) -> None:
        """The modules at both ends of a kind of link."""
        for group in (main, *separate):
            if group.medium is not None and group.medium.lower is not None and group.lower.form not in FIXED:
                self._module(links, group.lower, group.medium.lower, self._lower_count(links, group), group.links)
        if upper.form in FIXED or links.within_tier:
            return
        ports = main.medium.upper if main.medium is not None else None
        together, others = main.links, []
        for group in separate:
            module = group.medium.upper if group.medium is not None else None
            if same_module(module, ports):
                together = sum_of_links(together, group.links)
            else:
                others.append((group, module))
        if ports is not None:
            count = self._modules_with_others(links, upper, ports, [group for group, _ in others])
            self._module(links, upper, ports, count, together)
        for group, module in others:
            if module is not None:
                self._module(links, upper, module, pieces_by_leaf(self._machine_ends(group), module.ports), group.links)

    def _modules_with_others(
        self, links: Links, upper: Cage, module: Module, others: Sequence[EndpointGroup]
    ) -> Figure:
        """Modules of the upper switches of a kind of link, without cages that hold the parts of other groups."""
        tier = self.fabric.tier(upper.device)
        count = self._modules_of_tier(upper.device, links, module)
        if tier is None or not others:
            return count
        known = [group for group in others if upper_cage_part(group.medium)]
        unknown = [group for group in others if group not in known]
        if any(fitted.down.value != tier.down.value for fitted in tier.fitted):
            count = pieces_by_leaf(server_and_reserved_ends(*self._seats(), self._shared_kinds(known)), module.ports)
        else:
            for group in known:
                count = subtract_cages(count, pieces_by_leaf(self._machine_ends(group), module.ports))
        if unknown:
            kinds = (self._kinds(unknown), self._kinds(known))
            count = subtract_cages(count, whole_cages(*self._seats(), *kinds, module.ports))
        return count

    def _seats(self) -> tuple[Figure, Figure, Figure]:
        """The seats of one fabric, the number of equal fabrics, and the ports of other machines by kind."""
        seats = require((self.fabric.plane or self.fabric).seats, "a fabric without switches seats nobody")
        ports = EMPTY_PORTS
        for each in self.others:
            ports = append_machines(ports, each.pieces, each.ports)
        return seats, self.fabric.planes or SINGLE_FABRIC, ports

    def _kinds(self, groups: Sequence[EndpointGroup]) -> Figure:
        """The kinds of machines that the groups belong to, as indices."""
        kinds, ports = EMPTY_KINDS, EMPTY_PORTS
        wanted = {index for group in groups for index in group.others or ()}
        for index, each in enumerate(self.others):
            kinds = append_kind(kinds, ports) if index in wanted else kinds
            ports = append_machines(ports, each.pieces, each.ports)
        return kinds

    def _shared_kinds(self, separate: Sequence[EndpointGroup]) -> Figure:
        """The kinds of machines whose links are built like the servers'."""
        return shared_kinds(self._seats()[-1], self._kinds(separate))

    def _machine_ends(self, group: EndpointGroup) -> Figure:
        """The link ends of a group by leaf."""
        return machine_ends(*self._seats(), self._kinds((group,)))

    def _module(self, links: Links, cage: Cage, module: Module, count: Figure, ends: Figure) -> None:
        """Add modules, merged with equal ones, and their adapters."""
        if links.within_tier:
            ends = ends_of_links(ends, BOTH_ENDS)
        adapter = adapter_for(cage, module.cage, self.parts.rules())
        if adapter:
            self.adapters.append(AdapterUse(links.kind, cage.device, adapter, count))
        for index, use in enumerate(self.modules):
            if (use.kind, use.device) == (links.kind, cage.device) and same_module(use.module, module):
                count, ends = sum_of_modules(use.quantity, count), sum_of_links(use.ends, ends)
                self.modules[index] = ModuleUse(links.kind, cage.device, module, count, ends)
                return
        self.modules.append(ModuleUse(links.kind, cage.device, module, count, ends))

    def _lower_count(self, links: Links, group: EndpointGroup, module: Module | None = None) -> Figure:
        """Modules at the lower end of a group; `module` stands in for its own."""
        module = module or require(group.medium and group.medium.lower, f"no module for {links.kind} links")
        if group.lower.device != SERVER:
            return self._modules_of_tier(group.lower.device, links, module)
        return machine_modules(group.machines, module.ports)

    def _cable(self, links: Links, group: EndpointGroup, spec: LinkSpec, separate: Sequence[EndpointGroup]) -> None:
        """Add the cables of a group, merged with equal ones."""
        medium = group.medium
        cable = medium.cable if medium else None
        length = medium.length_m if medium else Fraction(spec.length_m.value)
        pieces = self._count_cables(links, group, cable, separate)
        for index, use in enumerate(self.cables):
            same = cable is None if use.cable is None else cable and cable.identity.id == use.cable.identity.id
            if use.kind == links.kind and same and use.length_m == length:
                self.cables[index] = CableUse(links.kind, cable, length, sum_of_cables(use.quantity, pieces))
                return
        self.cables.append(CableUse(links.kind, cable, length, pieces))

    def result(self) -> Interconnect:
        """Everything that was built."""
        return Interconnect(
            modules=tuple(self.modules),
            cables=tuple(self.cables),
            problems=tuple(self.problems),
            choices=tuple(self.choices),
            adapters=tuple(self.adapters),
            link_groups=tuple(self.link_groups),
        )

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _modules_of_tier(self, device: str, links: Links, module: Module) -> Figure:
        """Modules of one kind in all switches at one end of a kind of link."""
        tier = require(self.fabric.tier(device), f"{links.kind} ends at no switch {device}")
        counts = [self._modules_of_switches(fitted, links, module, device) for fitted in tier.fitted]
        total = counts[0]
        for count in counts[1:]:
            total = sum_of_modules(total, count)
        if self.fabric.reserved_above and device == "spine" and links.ends[1] == "spine":
            total = sum_of_modules(total, reserved_modules(self.fabric.reserved_above, module.ports))
        return total

    def _modules_of_switches(self, fitted: Fitted, links: Links, module: Module, device: str) -> Figure:
        """Modules of a kind of link in equal switches, beyond those of earlier kinds with the same module."""
        ports = self._ports(fitted, links, device)
        beside: Figure | None = None
        for other, placed in self.placed.get(device, ()):
            if placed is not None and same_module(placed, module) and other.kind != links.kind:
                more = self._ports(fitted, other, device)
                beside = more if beside is None else sum_of_ports(beside, more)
        if beside is None:
            return modules_of_switches(fitted.count, ports, module.ports)
        tier = self.fabric.tier(device)
        if tier is not None and fitted.down.value != tier.down.value and links.ends[0] == device:
            return modules_from_port(fitted.count, ports, tier.down, module.ports)
        return modules_after_others(fitted.count, ports, beside, module.ports)

    def _ports(self, fitted: Fitted, links: Links, device: str) -> Figure:
        """Ports of a kind of link on each of equal switches.

        Of several kinds between switches of one tier, the last has the ports that the others leave.
        """
        ports = fitted.down if links.ends[1] == device and not links.within_tier else fitted.up
        missing = f"a {device} has no ports for {links.kind} links"
        ports = require(ports, missing)
        if not links.within_tier:
            return ports
        kinds = [each for each in self.fabric.links if each.within_tier and device in each.ends]
        if links.kind != kinds[-1].kind:
            return require(links.ports, missing)
        for other in kinds[:-1]:
            ports = remaining_ports(ports, require(other.ports, missing))
        return ports

    def _count_cables(
        self, links: Links, group: EndpointGroup, cable: Cable | None, separate: Sequence[EndpointGroup]
    ) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(group.links)
        upper = require(self.fabric.tier(links.ends[1]), f"{links.kind} ends at no switch")
        if group.medium is not None and group.medium.splits_at_lower_end:
            if group.machines:
                return machine_modules(group.machines, cable.links)
            below = require(self.fabric.tier(links.ends[0]), f"{links.kind} begins at no switch")
            uplinks = require(below.up, f"{links.kind} is no way up")
            return cables_of_devices(group.links, uplinks, cable.links)
        if group.separate:
            return pieces_by_leaf(self._machine_ends(group), cable.links)
        if group.machines:
            return pieces_by_leaf(server_ends(*self._seats(), self._shared_kinds(separate)), cable.links)
        return cables_of_devices(group.links, upper.down, cable.links)

    def _unknown_part_warning(self, links: Links, group: EndpointGroup, upper: Cage, spec: LinkSpec) -> None:
        lower = group.lower
        text = message(
            "no-part-known",
            kind=links.kind,
            rate=group.rate.value,
            lower=lower.name,
            cage=lower.described,
            upper=upper.name,
            other=upper.described,
            length=metres(Fraction(spec.length_m.value)),
        )
        self._problem(spec, "warning", text, "no-part-known", links.kind)

    def _part_warnings(self, links: Links, spec: LinkSpec, group: EndpointGroup, medium: Medium, upper: Cage) -> None:
        """Warn about parts that cannot be ordered as they are."""
        used = {module.identity.id: module for module in (medium.upper, medium.lower) if module}
        for module in used.values():
            if module.identity.generic:
                self._problem(
                    spec, "warning", self._real_modules(links, module, group, upper, spec), "generic", links.kind
                )
            elif module.identity.availability != AVAILABLE:
                text = unavailable_message(module.identity, message("pluggable-module"))
                self._problem(spec, "warning", text, "availability", links.kind)
        cable = medium.cable
        if cable is None:
            text = missing_fibre_message(links, medium, self.parts.rules().receptacles)
            self._problem(spec, "warning", text, "no-part-known", links.kind)
        elif cable.identity.generic and cable.medium not in (FIBRE, COPPER_PAIRS):
            self._problem(spec, "warning", self._real_cable(links, cable, group, upper, spec), "generic", links.kind)
        elif cable.identity.generic and cable.links.value > 1:
            text = message("generic-fan-out", part=cable.identity.id, links=cable.links.value)
            self._problem(spec, "warning", text, "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            self._problem(spec, "warning", unavailable_message(cable.identity, "cable"), "availability", links.kind)

    def _real_modules(self, links: Links, module: Module, group: EndpointGroup, upper: Cage, spec: LinkSpec) -> Message:
        """The real modules for the cages of a link with generic modules, with their quantities."""
        lower, span = group.lower, Span(group.lower, upper, group.rate, Fraction(spec.length_m.value))
        real = next(transceivers(span, self.parts), None)
        planned, place = module.identity.id, message("cage" if module.ports.value > 1 else "port")
        if real is None or real.lower is None or real.upper is None:
            return message("generic-module-none", part=planned, place=place, kind=links.kind)
        ends = []
        for cage, part in distinct_ends(links, (lower, real.lower), (upper, real.upper)):
            code = "end-takes-twin" if part.ports.value == 2 else "end-takes"
            if cage is lower:
                count = self._lower_count(links, group, part)
            elif group.separate:
                count = pieces_by_leaf(self._machine_ends(group), part.ports)
            else:
                count = self._modules_of_tier(cage.device, links, part)
            number = part.identity.part_number or part.identity.id
            ends.append(message(code, device=cage.name, count=count.value, part=number, tier=cage.device))
        return message("generic-module", part=planned, place=place, names=ends)

    def _real_cable(self, links: Links, cable: Cable, group: EndpointGroup, upper: Cage, spec: LinkSpec) -> Message:
        lower, span = group.lower, self._span(links, spec)._replace(lower=group.lower, rate=group.rate)
        real = next(cables(cable.medium, span, self.parts), None)
        planned = cable.identity.id
        if real is None or real.cable is None:
            code = "generic-cable-twin" if upper.links == 2 else "generic-cable-none"
            medium = cable.medium.upper()
            return message(code, part=planned, upper=upper.name, medium=medium, form=lower.form, lower=lower.name)
        return message("generic-cable", part=planned, real=real.cable.identity.part_number or real.cable.identity.id)

    def _check_cages(self, spec: LinkSpec, links: Links) -> None:
        """Report links that fill more cages of a switch than it has, because different parts do not share a cage."""
        for device in dict.fromkeys(links.ends):
            tier = self.fabric.tier(device)
            found = count_filled_cages(tier, self.plugged.get(device, ())) if tier else None
            if tier is None or found is None or found[0] <= found[1]:
                continue
            up = f" and {tier.up.value} up" if tier.up else ""
            message = (
                f"{tier.down.value} links down{up} with different parts fill {found[0]} cages; "
                f"a {tier.switch.identity.name} has {found[1]}: use one module for both, or even numbers of links"
            )
            self._problem(spec, "error", message, CAGES, links.kind)

    def _check_leaves(
        self, spec: LinkSpec, links: Links, main: EndpointGroup, separate: Sequence[EndpointGroup], upper: Cage
    ) -> None:
        """Report leaves whose cages are not enough when other machines' parts share none with the servers'."""
        tier, own = self.fabric.tier(upper.device), upper_cage_part(main.medium)
        shares = [
            group
            for group in separate
            if upper_cage_part(group.medium) not in (own, None) and not is_planning_part(group.medium)
        ]
        if tier is None or upper.links == 1 or not shares:
            return
        seats, fabrics, ports = (figure.value for figure in self._seats())
        found = cage_shortage(seats, fabrics, ports, self._kinds(shares).value, int(tier.down.value), upper.links)
        if found:
            names = " and ".join(group.lower.name for group in shares)
            message = (
                f"links of {names} are plugged in otherwise than those of the servers: on a {tier.name} they fill "
                f"{found[0]} cages together, {found[1]} face down; name one module for both, or leave ports free with "
                f"`{tier.name}: {{downlinks: {tier.down.value - 1}}}`"
            )
            self._problem(spec, "error", message, CAGES, links.kind)

    def _problem(self, spec: LinkSpec, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(spec.mark, severity, message, rule, f"links.{kind}"))
