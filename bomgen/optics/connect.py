"""The parts that connect the links of a fabric: modules in cages, cables, fibres and adapters.

Modules are counted per device from occupied cages, never over the fabric as a whole: two switches do not share a
twin-port module. Generic parts are placeholders for any that fit: they are counted per port and reported with the real
parts that a buyer would order.

The ports of a module in a `Medium` are the links that it carries in its cage: two of a twin-port module, four of one
whose engines are split, one of a NIC's module that runs as a leg of a splitter. Counting then needs no other data.
Parts that serve several links of a leaf are counted leaf by leaf: the endpoints of each leaf are known, and every leaf
rounds up separately. Other machines that are connected differently from the servers begin a new cage; a leaf with too
few cages for that is refused, except for placeholders. Links without a known part come last.

Machines other than servers have separate cages where the plan or the catalogue gives them; their links are then built
separately, against the same cages of the leaves. Otherwise they are assumed to have the servers' cages, which the
report lists as an assumption. Equal parts are counted together, so that a bill has no two lines of one part for one
end.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from math import ceil, gcd
from typing import NamedTuple

from bomgen.catalog.identity import unavailable_message
from bomgen.catalog.parts import AVAILABLE, DSP, GENERIC, Cable, Module
from bomgen.core.diagnostics import PlanErrors, Problem, Severity
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Cited, Figure, require
from bomgen.fabric.ports import FittedTier, carries_rate
from bomgen.fabric.types import SERVER, Fabric, Fitted, Links, topology
from bomgen.optics.cages import (
    FIXED_FORMS,
    UNKNOWN,
    CagePlug,
    LeafShares,
    PortMap,
    TooFewCages,
    cage_of,
    filled_places,
    map_fabric_ports,
    parallel_links,
    plug_at,
    without_fixed_modules,
)
from bomgen.optics.compatibility import (
    AOC,
    AUTO,
    COPPER,
    COPPER_PAIRS,
    FIBRE,
    PREFER_COPPER,
    SHARING,
    Cage,
    LinkSpec,
    Medium,
    PartsLookup,
    Span,
    Unbuildable,
    adapter_for,
    metres,
)
from bomgen.optics.selection import cables, choose, transceivers
from bomgen.optics.uses import (
    BOTH_ENDS,
    CAGES_OF_SWITCH,
    EMPTY_PORTS,
    SINGLE_FABRIC,
    AdapterUse,
    AttachedHosts,
    CableUse,
    Chosen,
    EndpointGroup,
    FarModules,
    Interconnect,
    LeafFilling,
    LinkGroup,
    ModuleUse,
    append_machines,
    cables_of_links,
    cables_of_plugs,
    choose_medium,
    chosen,
    ends_of_links,
    fill_leaves,
    links_left,
    machine_modules,
    missing_fibre_message,
    modules_in_cages,
    modules_of_switches,
    modules_without_shared,
    pieces_on_leaves,
    ports_of_machines,
    refuse_several_links,
    remaining_ports,
    reserved_modules,
    same_module,
    same_parts,
    slower_rate,
    sum_of_cables,
    sum_of_links,
    sum_of_modules,
)


class PartsRequest(NamedTuple):
    """A fabric with the ends of its links, for which parts are counted."""

    fabric: Fabric
    servers: Figure
    server_cage: Cage
    others: Sequence[AttachedHosts]
    """The other machines on the fabric."""
    rows: Figure
    """Rows of leaves over which the links of other machines are distributed: planes, or rails."""
    fitted: Sequence[FittedTier]
    """The line cards of its modular switches."""
    parts: PartsLookup
    populate_all: bool
    """Whether unused ports have modules, too."""


def count_parts(request: PartsRequest, specs: Mapping[str, LinkSpec]) -> Interconnect:
    """Return the modules and cables of a fabric; links that cannot be built are among the problems of the result."""
    first = _PartCounter(request, specs).count()
    if not has_problem(first, CAGES):
        return first
    for options in SHARING:
        limited = {
            kind: spec._replace(allowed_options=options if _is_open(spec) else ()) for kind, spec in specs.items()
        }
        counted = _PartCounter(request, limited).count()
        if not has_problem(counted, CAGES) and all(choice.option for choice in counted.choices):
            return counted
    return first


def _is_open(spec: LinkSpec) -> bool:
    return spec.medium.value == AUTO and not spec.modules and not spec.fibre and PREFER_COPPER not in spec.prefer


def foreign_modules(fabric: Fabric, cages: tuple[Cage, Cage], medium: Medium, parts: PartsLookup) -> Iterator[Message]:
    """Yield what the vendors of switches say of a medium's modules, or cable ends, of another maker in their cages."""
    cable = medium.cable if medium.cable and medium.cable.medium in (*COPPER, AOC) else None
    for cage, module in zip(cages, (medium.lower, medium.upper), strict=True):
        tier, part = fabric.tier(cage.device), module or cable
        if tier is None or part is None or part.identity.generic:
            continue
        own, maker = tier.switch.identity, part.identity.vendor
        if maker is None or own.vendor in (None, GENERIC, maker):
            continue
        policy = parts.rules().foreign_modules.get(own.vendor, "unknown")
        says = message(f"policy-{policy}", vendor=own.vendor)
        number = part.identity.part_number or part.identity.name
        yield message("foreign-module", part=number, maker=maker, switch=own.name, says=says)


def has_problem(interconnect: Interconnect, rule: str) -> bool:
    """Return whether links have a problem of a rule: `CAGES` or `NO_PART`."""
    return any(problem.rule == rule for problem in interconnect.problems)


CAGES, NO_PART = "cages", "no-part-known"
"""Reason codes: the links need more cages than there are; no part of the catalogue makes a link."""


class _Kind(NamedTuple):
    links: Links
    spec: LinkSpec
    upper: Cage
    main: EndpointGroup
    """The links of endpoints: those of the servers and of hosts with the same cages."""
    separate: tuple[EndpointGroup, ...]
    """The links of hosts with other cages or rates, one for each kind of host."""

    @property
    def groups(self) -> tuple[EndpointGroup, ...]:
        """All groups, that of the servers first."""
        return (self.main, *self.separate)

    def plug(self, device: str, group: EndpointGroup | None = None) -> CagePlug:
        """Return the part that the links of a group, by default the main one, have in the cages of a device."""
        group, upper = group or self.main, self.links.ends[1] == device
        return plug_at(group.medium, self.upper if upper else group.lower, upper)


class _PartCounter:
    def __init__(self, request: PartsRequest, specs: Mapping[str, LinkSpec]) -> None:
        self.fabric, self.fitted, self.parts = request.fabric, request.fitted, request.parts
        self.servers, self.server_cage, self.others = request.servers, request.server_cage, request.others
        self.rows, self.populate_all = request.rows, request.populate_all
        self.modules: list[ModuleUse] = []
        self.cables: list[CableUse] = []
        self.problems: list[Problem] = []
        self.choices: list[Chosen] = []
        self.adapters: list[AdapterUse] = []
        self.link_groups: list[LinkGroup] = []
        self.kinds: dict[str, _Kind] = {}
        self.port_maps: Mapping[tuple[str, str], PortMap] = {}
        self.leaf_shares: dict[str, LeafShares] = {}
        for links in self.fabric.links:
            self.choose(links, specs[links.kind])

    def choose(self, links: Links, spec: LinkSpec) -> None:
        span = self._span(links, spec)
        lower, upper = span.lower, span.upper
        try:
            choice = choose(spec, span, self.parts)
            refuse_several_links(links, choice.medium)
        except Unbuildable as error:
            self._problem(spec, "error", str(error), error.rule, links.kind)
            return
        except LookupError as error:
            self._problem(spec, "error", str(error), "unknown-part", links.kind)
            return
        except PlanErrors as errors:
            self.problems += [problem for problem in errors.problems if problem not in self.problems]
            return
        self.choices.append(chosen(links.kind, choice))
        separate = tuple(self._separate_groups(links, spec, upper)) if lower.device == SERVER else ()
        medium = choice.medium and without_fixed_modules(choice.medium, lower, upper)
        left = links.cabled
        for group in separate:
            left = links_left(left, group.links)
        machines = self._server_machines(links) if lower.device == SERVER else ()
        main = EndpointGroup(left, lower, links.rate_gbps, machines, medium, span)
        self.kinds[links.kind] = _Kind(links, spec, upper, main, separate)

    def count(self) -> Interconnect:
        """Count the parts of the chosen kinds of link: modules by cage, cables, adapters."""
        try:
            self.port_maps = map_fabric_ports(self.fabric, self._plug, self.fitted)
            for kind in self.kinds.values():
                self._count_kind(kind)
        except TooFewCages as error:
            kind = self.kinds.get(error.kind) or next(iter(self.kinds.values()))
            self._problem(kind.spec, "error", self._cages_message(kind, error), CAGES, kind.links.kind)
        return Interconnect(
            modules=tuple(self.modules),
            cables=tuple(self.cables),
            problems=tuple(self.problems),
            choices=tuple(self.choices),
            adapters=tuple(self.adapters),
            link_groups=tuple(self.link_groups),
            port_maps=self.port_maps,
            leaf_shares=self.leaf_shares,
        )

    def _plug(self, links: Links, device: str) -> CagePlug:
        kind = self.kinds.get(links.kind)
        if kind is None:
            return UNKNOWN
        upper = links.ends[1] == device
        plugs = [kind.plug(device, group) for group in (kind.groups if upper else (kind.main,))]
        known = [plug for plug in plugs if plug.part is not None]
        # A cage is split as far as the parts of all its links allow.
        return known[0]._replace(links=min(plug.links for plug in known)) if known else UNKNOWN

    def _count_kind(self, kind: _Kind) -> None:
        links = kind.links
        if links.ends[0] == SERVER and not links.within_tier:
            self.leaf_shares[links.kind] = self._share_leaves(kind)
        self._modules(kind)
        described: list[Medium | None] = []
        for group in kind.groups:
            self._cable(kind, group)
            spec = group.spec or kind.spec
            if group.medium is None:
                self._unknown_part_warning(links, group, kind.upper, spec)
            elif not any(same_parts(group.medium, each) for each in described):
                self._part_warnings(kind, group, group.medium)
            described.append(group.medium)
            length = group.medium.length_m if group.medium else Fraction(spec.length_m.value)
            link_group = LinkGroup(links.kind, group.medium, length, group.rate, group.others, span=group.span)
            self.link_groups.append(link_group._replace(fixed_length=group.fixed_length, far=group.far))

    def _span(self, links: Links, spec: LinkSpec) -> Span:
        lower, upper = (self._cage(device, links.rate_gbps) for device in links.ends)
        together = parallel_links(self.fabric, links)
        leaf = self.fabric.tier(links.ends[1])
        if lower.device == SERVER and leaf is not None and self.rows.value == 1:
            ports = (self.fabric.ports_per_server, *(each.ports for each in self.others))
            together = gcd(leaf.down.value, *(port.value for port in ports))
        single = links.within_tier and links.parallel is None
        return Span(lower, upper, links.rate_gbps, Fraction(spec.length_m.value), together, single, bool(spec.panels))

    def _has_own_plug(self, machines: AttachedHosts, links: Links) -> bool:
        cage, rate = machines.cage, machines.port_gbps
        slow = rate is not None and rate.value < links.rate_gbps.value
        own = cage is not None and (cage.form, cage.links) != (self.server_cage.form, self.server_cage.links)
        return slow or own or machines.spec is not None

    def _server_machines(self, links: Links) -> tuple[tuple[Figure, Figure], ...]:
        same = ((each.pieces, each.ports) for each in self.others if not self._has_own_plug(each, links))
        return ((self.servers, self.fabric.ports_per_server), *same)

    def _separate_groups(self, links: Links, spec: LinkSpec, upper: Cage) -> Iterator[EndpointGroup]:
        for place, each in enumerate(self.others):
            if not self._has_own_plug(each, links):
                continue
            wanted, rate = each.spec or spec, links.rate_gbps
            asked = each.spec.rate_gbps if each.spec else None
            if asked and asked.value > rate.value:
                own = f"links of {asked.value} Gb/s to {each.name or 'other machines'}"
                text = f"{own}; the ports of the fabric run at {rate.value} Gb/s: write `rate: {rate.value}G` or less"
                self._problem(wanted, "error", text, "rate", links.kind)
            for slower in (each.port_gbps, asked):
                if slower is not None and slower.value < rate.value:
                    rate = slower_rate(slower, rate)
            cage = each.cage or (upper._replace(device=SERVER, name=each.name) if each.name else self.server_cage)
            count, machines = ports_of_machines(each.pieces, each.ports), ((each.pieces, each.ports),)
            span = Span(cage, upper, rate, Fraction(wanted.length_m.value), over_panels=bool(wanted.panels))
            found = self._medium_of_hosts(each, wanted, span, links.kind)
            leaf = require(self.fabric.tier(links.ends[1]), "hosts are on leaves").switch
            slower_port = rate.value < links.rate_gbps.value and any(carries_rate(group, rate) for group in leaf.groups)
            if found is None and slower_port:
                # Slower links may break out a cage further than those of the fabric.
                span = span._replace(upper=self._cage(links.ends[1], rate))
                found = self._medium_of_hosts(each, wanted, span, links.kind)
            found, far = found and without_fixed_modules(found, cage, upper), None
            if found and found.lower and not each.modules_offered:
                far = FarModules(each.name, found.lower, machine_modules(machines, found.lower.ports))
                found = found._replace(lower=None)
            yield EndpointGroup(count, cage, rate, machines, found, span, (place,), each.spec, far)

    def _medium_of_hosts(self, hosts: AttachedHosts, spec: LinkSpec, span: Span, kind: str) -> Medium | None:
        """Return the medium for hosts with other links than the servers; one that their settings ask for must work."""
        if hosts.spec is None or _is_open(spec):
            return choose_medium(spec, span, self.parts)
        try:
            return choose(spec, span, self.parts).medium
        except (Unbuildable, LookupError) as error:
            rule = error.rule if isinstance(error, Unbuildable) else "unknown-part"
            self._problem(spec, "error", str(error), rule, kind)
            return None

    def _modules(self, kind: _Kind) -> None:
        links, upper = kind.links, kind.upper
        for group in kind.groups:
            if group.medium is not None and group.medium.lower is not None and group.lower.form not in FIXED_FORMS:
                self._module(links, group.lower, group.medium.lower, self._lower_count(kind, group), group.links)
        if upper.form in FIXED_FORMS or links.within_tier:
            return
        for number, group in enumerate(kind.groups):
            if group.medium is not None and group.medium.upper is not None:
                count = self._upper_count(kind, number, group.medium.upper)
                self._module(links, upper, group.medium.upper, count, group.links)

    def _lower_count(self, kind: _Kind, group: EndpointGroup, module: Module | None = None) -> Figure:
        module = module or require(group.medium and group.medium.lower, f"no module for {kind.links.kind} links")
        if group.lower.device != SERVER:
            return self._pieces_of_tier(kind, group.lower.device, module.ports)
        return machine_modules(group.machines, module.ports)

    def _upper_count(self, kind: _Kind, number: int, module: Module) -> Figure:
        """Return the modules at the upper end of a group, given by its index among the groups of the kind."""
        dealt_out = kind.main.machines and self.others and self.fabric.planes
        if kind.separate or dealt_out:
            return self._pieces_by_leaf(kind, number, module)
        return self._pieces_of_tier(kind, kind.upper.device, module.ports)

    def _share_leaves(self, kind: _Kind) -> LeafShares:
        device = kind.upper.device
        own = self.port_maps[device, kind.links.kind]
        sockets = own.sockets + own.spare if kind.separate else own.sockets
        others = [
            port_map for key, port_map in self.port_maps.items() if key[0] == device and key[1] != kind.links.kind
        ]
        above = {socket.cage for port_map in others for socket in port_map.sockets}
        closed = next((place for place, socket in enumerate(sockets) if socket.cage in above), len(sockets))
        groups = [0] * len(self.others)
        for number, group in enumerate(kind.separate, start=1):
            for index in group.others or ():
                groups[index] = number
        plugs = (kind.plug(device, group) for group in kind.groups)
        return LeafShares(tuple(plugs), tuple(groups), sockets, closed, len(own.sockets))

    def _pieces_by_leaf(
        self, kind: _Kind, number: int, module: Module | None = None, only: frozenset[int] | None = None
    ) -> Figure:
        """Return the modules, or without a module the cables, of a group of links on leaves with several groups."""
        # `only`: in these cages alone.
        device, shares = kind.upper.device, self.leaf_shares[kind.links.kind]
        if module is not None:
            plugs = list(shares.plugs)
            plugs[number] = plugs[number]._replace(part=module.identity.id, links=int(module.ports.value))
            shares = shares._replace(plugs=tuple(plugs))
        tier = require(self.fabric.tier(device), f"{kind.links.kind} links end at no switch")
        full = self.populate_all and all(fitted.down.value == tier.down.value for fitted in tier.fitted)
        seats = require((self.fabric.plane or self.fabric).seats, "a fabric without switches seats nobody")
        ports = EMPTY_PORTS
        for each in self.others:
            ports = append_machines(ports, each.pieces, each.ports)
        filling = Figure(LeafFilling(shares, full, number, module is None, only), "cages", self._cited(device))
        return pieces_on_leaves(fill_leaves(seats, self.fabric.planes or SINGLE_FABRIC, ports, filling))

    def _module(self, links: Links, cage: Cage, module: Module, count: Figure, ends: Figure) -> None:
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

    def _cable(self, kind: _Kind, group: EndpointGroup) -> None:
        medium, name = group.medium, kind.links.kind
        cable = medium.cable if medium else None
        fixed = group.fixed_length
        length = medium.length_m if medium else Fraction((group.spec or kind.spec).length_m.value)
        pieces = self._count_cables(kind, group, cable)
        for index, use in enumerate(self.cables):
            same = cable is None if use.cable is None else cable and cable.identity.id == use.cable.identity.id
            if use.kind == name and same and (use.length_m, use.fixed_length) == (length, fixed):
                self.cables[index] = use._replace(quantity=sum_of_cables(use.quantity, pieces))
                return
        self.cables.append(CableUse(name, cable, length, pieces, fixed_length=fixed))

    def _count_cables(self, kind: _Kind, group: EndpointGroup, cable: Cable | None) -> Figure:
        if cable is None or cable.links.value == 1:
            return cables_of_links(group.links)
        lower, upper = kind.links.ends
        if lower == upper == SERVER:
            return cables_of_plugs(machine_modules(group.machines, cable.links), BOTH_ENDS)
        if group.medium is not None and group.medium.splits_at_lower_end:
            return (
                machine_modules(group.machines, cable.links)
                if group.machines
                else self._pieces_of_tier(kind, lower, cable.links, modules=False)
            )
        if lower == SERVER:
            return self._pieces_by_leaf(kind, kind.groups.index(group))
        pieces = self._pieces_of_tier(kind, upper, cable.links, modules=False)
        return cables_of_plugs(pieces, BOTH_ENDS) if kind.links.within_tier else pieces

    def _cage(self, device: str, rate: Figure) -> Cage:
        tier = self.fabric.tier(device)
        return self.server_cage if tier is None else cage_of(tier.switch, device, rate)

    def _pieces_of_tier(self, kind: _Kind, device: str, links_per_piece: Figure, modules: bool = True) -> Figure:
        """Return the modules or cables of a kind of link in all switches of a tier at one of its ends."""
        # Reserved ports have modules, possibly those of links of other kinds; no cable is bought for them.
        links = kind.links
        tier = require(self.fabric.tier(device), f"{links.kind} ends at no switch {device}")
        total: Figure | None = None
        for fitted in tier.fitted:
            count = self._pieces_of_switches(kind, fitted, device, links_per_piece)
            total = count if total is None else sum_of_modules(total, count)
        if not modules:
            return require(total, f"no switches {device}")
        total = self._without_shared(kind, device, require(total, f"no switches {device}"))
        if self.fabric.reserved_above and device == "spine" and links.ends[1] == "spine":
            total = sum_of_modules(total, reserved_modules(self.fabric.reserved_above, links_per_piece))
        return total

    def _without_shared(self, kind: _Kind, device: str, total: Figure) -> Figure:
        """Return the modules of a kind of link without those shared with links of servers and other machines."""
        plug, sockets = kind.plug(device), self.port_maps[device, kind.links.kind].sockets
        for name, other in self.kinds.items():
            if name == kind.links.kind or device != other.upper.device or not self._differs_by_leaf(other):
                continue
            for number, group in enumerate(other.groups):
                module = group.medium and group.medium.upper
                if module and module.ports.value > 1 and other.plug(device, group) == plug:
                    own = frozenset(socket.cage for socket in sockets)
                    total = modules_without_shared(total, self._pieces_by_leaf(other, number, module, own))
                    break
        return total

    def _differs_by_leaf(self, kind: _Kind) -> bool:
        """Return whether leaves that are built alike have different links of a kind."""
        # Other machines have separate parts, or their ports are distributed over planes, some of which get one less.
        planes = int(self.fabric.planes.value) if self.fabric.planes else 1
        ports = sum(int(each.pieces.value * each.ports.value) for each in self.others)
        return bool(kind.separate) or (kind.links.ends[0] == SERVER and ports % planes > 0)

    def _pieces_of_switches(self, kind: _Kind, fitted: Fitted, device: str, links_per_piece: Figure) -> Figure:
        """Return the pieces of a kind of link in equal switches, without those in cages filled by an earlier kind."""
        ports, each = self._ports(fitted, kind.links, device), int(links_per_piece.value)
        found = self._places(kind, device, int(ports.value), each)
        for name, other in self.kinds.items():
            if name == kind.links.kind:
                break
            if device not in other.links.ends or self._differs_by_leaf(other):
                continue
            if each > 1 and other.plug(device) == kind.plug(device):
                found -= self._places(other, device, int(self._ports(fitted, other.links, device).value), each)
        if len(found) == ceil(ports.value / each):
            return modules_of_switches(fitted.count, ports, links_per_piece)
        cages = Figure(len(found), "pieces", self._cited(device))
        return modules_in_cages(fitted.count, cages)

    def _places(self, kind: _Kind, device: str, ports: int, links_per_piece: int) -> set[tuple[int, int]]:
        return filled_places(self.port_maps[device, kind.links.kind], ports, links_per_piece)

    def _cited(self, device: str) -> Cited:
        name = require(self.fabric.tier(device), f"no tier {device}").switch.identity.name
        return Cited(message("cages-of-switch", name=name), (CAGES_OF_SWITCH,), "high")

    def _ports(self, fitted: Fitted, links: Links, device: str) -> Figure:
        """Return the ports of a kind of link on each of equal switches."""
        # Of several kinds between switches of one tier, the last has the ports that the others leave.
        ports = fitted.down if links.ends[1] == device and not links.within_tier else fitted.up
        missing = f"a {device} has no ports for {links.kind} links"
        ports = require(ports, missing)
        if not links.within_tier:
            return ports
        kinds = [link for link in self.fabric.links if link.within_tier and device in link.ends]
        if links.kind != kinds[-1].kind:
            return fitted.local or require(links.ports, missing)
        for kind in kinds[:-1]:
            ports = remaining_ports(ports, fitted.local or require(kind.ports, missing))
        return ports

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
        self._problem(spec, "warning", text, NO_PART, links.kind)

    def _part_warnings(self, kind: _Kind, group: EndpointGroup, medium: Medium) -> None:
        links, spec, upper = kind.links, group.spec or kind.spec, kind.upper
        used = {module.identity.id: module for module in (medium.upper, medium.lower) if module}
        for module in used.values():
            if module.identity.generic:
                self._problem(spec, "warning", self._real_modules(kind, module, group), "generic", links.kind)
            elif module.identity.availability != AVAILABLE:
                text = unavailable_message(module.identity, message("pluggable-module"))
                self._problem(spec, "warning", text, "availability", links.kind)
        self._module_warnings(kind, group, medium)
        cable = medium.cable
        if cable is None:
            text = missing_fibre_message(links, medium, self.parts.rules().receptacles)
            self._problem(spec, "warning", text, NO_PART, links.kind)
        elif cable.identity.generic and cable.medium not in (FIBRE, COPPER_PAIRS):
            self._problem(spec, "warning", self._real_cable(links, cable, group, upper, spec), "generic", links.kind)
        elif cable.identity.generic and cable.links.value > 1 and any(end.identity.generic for end in used.values()):
            text = message("generic-fan-out", part=cable.identity.id, links=cable.links.value)
            self._problem(spec, "warning", text, "generic", links.kind)
        elif cable.identity.availability != AVAILABLE:
            self._problem(spec, "warning", unavailable_message(cable.identity, "cable"), "availability", links.kind)

    def _module_warnings(self, kind: _Kind, group: EndpointGroup, medium: Medium) -> None:
        for cage, module in ((group.lower, medium.lower), (kind.upper, medium.upper)):
            if module is not None and module.electronics != DSP:
                name, electronics = module.identity.name, module.electronics
                text = message("linear-module", part=name, electronics=electronics, host=cage.name)
                self._warn_once(kind, text, "linear-module")
        for text in foreign_modules(self.fabric, (group.lower, kind.upper), medium, self.parts):
            self._warn_once(kind, text, "foreign-module")

    def _warn_once(self, kind: _Kind, text: Message, rule: str) -> None:
        if all(problem.message != text for problem in self.problems):
            self._problem(kind.spec, "warning", text, rule, kind.links.kind)

    def _real_modules(self, kind: _Kind, module: Module, group: EndpointGroup) -> Message:
        links, upper, spec = kind.links, kind.upper, kind.spec
        lower, span = group.lower, Span(group.lower, upper, group.rate, Fraction(spec.length_m.value))
        orderable = (
            transceiver
            for transceiver in transceivers(span, self.parts)
            if not any(part.identity.generic for part in transceiver.modules)
        )
        real = next(orderable, None)
        planned, place = module.identity.id, message("cage" if module.ports.value > 1 else "port")
        if real is None or real.lower is None or real.upper is None:
            return message("generic-module-none", part=planned, place=place, kind=links.kind)
        ends, index = [], kind.groups.index(group)
        both = (lower, real.lower), (upper, real.upper)
        for cage, part in both[:1] if links.within_tier else both:
            code = "end-takes-twin" if part.ports.value == 2 else "end-takes"
            own = cage is lower
            count = self._lower_count(kind, group, part) if own else self._upper_count(kind, index, part)
            number = part.identity.part_number or part.identity.name
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

    def _cages_message(self, kind: _Kind, error: TooFewCages) -> str:
        """Return the remedy for links that fill more cages than a switch has because different parts share none."""
        tier = require(self.fabric.tier(kind.upper.device), "no switch")
        if not kind.separate:
            return (
                f"{error}: different parts cannot share a cage; use one module type for all links on the switch, "
                "or fewer links"
            )
        names = " and ".join(group.lower.name for group in kind.separate)
        option, fewer = topology(self.fabric.topology).endpoints_option, tier.down.value - 1
        free = "remove `leaf.downlinks` and `leaf.servers`, so that bomgen leaves ports unused"
        if option:
            free = f"leave ports unused with `{self.fabric.topology}: {{{option}: {fewer}}}`"
        return (
            f"links of {names} need other parts than the servers, and a cage takes one kind: too few cages on a "
            f"{tier.name}; specify one module for both, or {free}"
        )

    def _problem(self, spec: LinkSpec, severity: Severity, message: str, rule: str, kind: str) -> None:
        self.problems.append(Problem(spec.mark, severity, message, rule, f"links.{kind}"))
