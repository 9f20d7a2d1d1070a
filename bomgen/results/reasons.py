"""Reasons for all choices of a result, as pure functions of a report: parallelism, machines, fabrics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Record, built_in, cache_one
from bomgen.catalog.part_records import LINE_CARDS
from bomgen.catalog.parts import Identity, Server, Switch
from bomgen.core.diagnostics import Infeasible, PlanErrors
from bomgen.core.language import Language, describe_formula
from bomgen.core.messages import ENGLISH, Message, message
from bomgen.core.provenance import Assumed, Derived, Figure, Given, Mark, walk
from bomgen.core.units import rounded
from bomgen.design.assembly import BuiltFabric
from bomgen.fabric.clos.build import Tried, count_endpoints, runners_up_by_division, runners_up_by_tiers
from bomgen.fabric.clos.shape import ClosShape, divisors
from bomgen.fabric.occupancy import demand_of_one_plane
from bomgen.fabric.ports import CardUse, FittedTier
from bomgen.fabric.types import Demand, Links, Tier, TierChoice, tiers_in_words
from bomgen.optics.compatibility import MediumOption, metres
from bomgen.optics.uses import Chosen
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import ADDED, CONFIGURED, USUAL
from bomgen.plan.types import COMPUTE, OUT_OF_BAND, FabricPlan
from bomgen.pricing.bill_line import cluster_path
from bomgen.results.result import Report
from bomgen.results.what_if import OtherDesign, compare_design, compare_designs, rejection
from bomgen.site import racks
from bomgen.site.racks import power_of
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.storage import StoredUnits
from bomgen.sizing.training.memory import ModelSplit, degrees_of
from bomgen.sizing.training.parallelism import describe_faster, seconds_text

PLAN, DEFAULT, RULE, SEARCH = "plan", "default", "rule", "search"
"""Origin of a choice: the plan, a catalogue default, a rule, a search of the program."""


class Other(NamedTuple):
    """A rejected alternative and the reason."""

    name: str
    reason: str


class Reason(NamedTuple):
    """A choice and its reason; texts are translatable messages, or names."""

    subject: str
    """Dotted path of the choice."""
    title: Message
    """Title of the choice."""
    chosen: str
    by: str
    """One of `PLAN`, `DEFAULT`, `RULE` and `SEARCH`."""
    because: str
    place: Mark | None
    """Place in the plan that sets it."""
    others: tuple[Other, ...] = ()


class Topic(NamedTuple):
    """A choice whose reason is calculated on request."""

    subject: str
    covers: tuple[str, ...]
    """Numbers of bom.json and bill lines that depend on the choice, by path or id prefix."""
    reason: Callable[[], Reason | None]


class ReasonInputs(NamedTuple):
    """Inputs for reasons."""

    report: Report
    words: Language
    """Language of the numbers in the texts."""

    def given(self, *path: str | int) -> Mark | None:
        """Return the place at which the plan sets a key; None if it does not."""
        data: Any = self.report.source.data
        for step in path:
            if not isinstance(data, Mapping) or step not in data:
                return None
            data = data[step]
        return self.report.source.key_mark(path)

    def value(self, figure: Figure) -> str:
        """Return a figure as text."""
        return self.words.shown(figure)


def chosen_by(asked: ReasonInputs, figure: Figure) -> tuple[str, Mark | None, str]:
    """Return who set a figure, where, and the reason: the plan, an assumption, a search, or a rule."""
    origin = figure.origin
    if isinstance(origin, Given):
        return PLAN, origin.mark, message("because-plan")
    if isinstance(origin, Assumed):
        return (SEARCH if origin.chosen else DEFAULT), None, origin.why
    searched = any(
        isinstance(node.origin, Derived) and node.origin.formula.unit in ("shape", "demand") for node in walk(figure)
    )
    formula = describe_formula(figure, asked.words, asked.value).text if isinstance(origin, Derived) else ""
    return (SEARCH if searched else RULE), None, formula


def named(identity: Identity) -> str:
    """Return the id and name of a part."""
    return identity.id if identity.id == identity.name else message("part-by-id", id=identity.id, name=identity.name)


# machines ----------------------------------------------------------------------------------------------------------
# Reasons for servers, NICs and racks.


def machine_topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield servers, the NICs of every fabric, and servers per rack."""
    report = asked.report
    if report.plan.cluster.server:
        yield Topic("cluster.server", ("server", "gpu", "cluster.servers"), partial(_server, asked))
    for built in report.design.fabrics:
        if built.attachment:
            name = built.plan.name
            covers = (f"{name}.nic", f"fabrics.{name}.endpoints", f"fabrics.{name}.link_gbps")
            yield Topic(f"fabrics.{name}.nic", covers, partial(_nic, asked, built))
    if report.design.facility.servers_per_rack:
        of_racks = ("site.compute_racks", "site.servers_per_rack", "rack.compute", "pdu.compute")
        yield Topic("site.servers_per_rack", of_racks, partial(_per_rack, asked))
    for part in report.design.sizing.stored.units if report.design.sizing.stored else ():
        if part.of.added:
            id = part.of.identity.id
            yield Topic(f"storage.parts.{id}", (f"storage.{id}",), partial(_storage_part, asked, part))


def _storage_part(asked: ReasonInputs, part: StoredUnits) -> Reason:
    named_parts = [named(other.identity) for other in asked.report.plan.storage.servers if not other.added]
    because = message("because-completes", names=named_parts)
    chosen = message("chosen-storage-part", count=part.number.value, part=named(part.of.identity))
    subject, title = f"storage.parts.{part.of.identity.id}", message("choice-storage-part", part=part.of.identity.name)
    return Reason(subject, title, chosen, RULE, because, None, ())


def _server(asked: ReasonInputs) -> Reason | None:
    cluster = asked.report.plan.cluster
    server = cluster.server
    if server is None:
        return None
    place = asked.given("cluster", "server")
    gpu = cluster.gpu.identity
    because = message("because-named") if place else message("because-usual-server", gpu=named(gpu))
    others = []
    for record, other in _alike(asked, gpu.id):
        if record.id != server.identity.id:
            usual = "not-chosen-usual" if record.value("default") else "not-chosen-unusual"
            reason = message("not-chosen-by-plan" if place else usual, properties=_described(asked, other))
            others.append(Other(named(other.identity), reason))
    chosen = message("chosen-server", server=named(server.identity), properties=_described(asked, server))
    return Reason(
        "cluster.server", message("choice-server"), chosen, PLAN if place else DEFAULT, because, place, tuple(others)
    )


def _alike(asked: ReasonInputs, gpu: str) -> list[tuple[Record, Server]]:
    """Return the catalogue servers with a GPU; none if an unused part file is invalid."""
    try:
        return [
            (record, part_records.server(record)) for record in asked.report.catalog.records_where("server", "gpu", gpu)
        ]
    except PlanErrors:
        return []


def _described(asked: ReasonInputs, server: Server) -> list[str]:
    words: list[str] = [message("count-gpus", gpus=server.gpus.value)]
    if server.compute:
        words.append(_nics(asked, server.compute.count, server.compute.gbps))
    if server.power_w:
        words.append(asked.value(server.power_w))
    if server.rack_units:
        words.append(asked.value(server.rack_units))
    return words


def _nics(asked: ReasonInputs, count: Figure, rate: Figure | None) -> Message:
    if rate is None:
        return message("count-nics", nics=count.value)
    return message("count-nics-at", nics=count.value, rate=asked.value(rate))


_SUPPLIES = {ADDED: "because-more-ports", CONFIGURED: "because-configured", USUAL: "because-usual-nic"}


def _nic(asked: ReasonInputs, built: BuiltFabric) -> Reason | None:
    attached, server = built.attachment, asked.report.plan.cluster.server
    if attached is None or server is None:
        return None
    subject, name = f"fabrics.{built.plan.name}.nic", server.identity.name
    title = message("choice-nic", fabric=built.plan.name)
    owned = _own_ports(asked, built, server)
    place = asked.given("fabrics", built.plan.name, "nic")
    count, rate = attached.nics_per_server.value, asked.value(attached.port_gbps)
    if attached.bought is None:
        used = message("chosen-own-ports", ports=count, rate=rate)
        return Reason(subject, title, used, RULE, message("because-own-ports", server=name, ports=owned), None)
    chosen = message("chosen-nics", nics=count, part=named(attached.bought.identity), rate=rate)
    reason = message("not-enough-ports", ports=owned, wanted=count, rate=rate)
    others = (Other(message("ports-of-server", server=name), reason),)
    because = message("because-named") if place else message(_SUPPLIES[attached.supply], server=name)
    return Reason(subject, title, chosen, PLAN if place else RULE, because, place, others)


def _own_ports(asked: ReasonInputs, built: BuiltFabric, server: Server) -> Message:
    if built.plan.role == OUT_OF_BAND:
        ports = server.bmc_ports
        return (
            message("supplied-management-ports", ports=ports.value) if ports else message("supplied-management-unknown")
        )
    own, what, included = server.storage, "ports", server.storage_nics_included
    if built.plan.role == COMPUTE:
        own, what, included = server.compute, "nics", server.nics_included
    if not included:
        return message("supplied-none")
    if own is None:
        return message(f"supplied-{what}-unknown")
    if own.gbps is None:
        return message(f"supplied-{what}", count=own.count.value)
    return message(f"supplied-{what}-at", count=own.count.value, rate=asked.value(own.gbps))


def _per_rack(asked: ReasonInputs) -> Reason | None:
    site, server = asked.report.plan.site, asked.report.plan.cluster.server
    found = asked.report.design.facility.servers_per_rack
    if site is None or server is None or found is None:
        return None
    by, place, because = chosen_by(asked, site.servers_per_rack or found)
    room: racks.RackCapacity = racks.compute_capacity(site)
    more = found.value + 1
    others = []
    if server.rack_units:
        needed = f"{more * server.rack_units.value} U"
        others.append((more * server.rack_units.value > room.units.value, needed, asked.value(room.units)))
    if server.power_w:
        draws = asked.value(power_of(Figure(more, found.unit, found.origin), server.power_w))
        others.append((more * server.power_w.value > room.power_w.value, draws, asked.value(room.power_w)))
    too_much = [message("not-in-rack", needed=needs, offered=has) for over, needs, has in others if over]
    if not site.servers_per_rack:
        because = message("because-rack-allows")
    reason = asked.words.word("list-semicolon").join(map(asked.words.message, too_much))
    other = Other(message("count-in-rack", servers=more), reason or message("not-asked-in-rack"))
    chosen = message("chosen-in-rack", servers=found.value, server=server.identity.name)
    title = message("choice-servers-per-rack")
    return Reason("site.servers_per_rack", title, chosen, by, because, place, (other,))


# parallelism --------------------------------------------------------------------------------------------------------
# Reasons for the parallelism of a model.

COVERS = ("workload.parallelism", "workload.gpus_per_replica", "workload.memory.per_gpu")


def parallelism_topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield the parallelism of a training run, or of a serving replica."""
    sizing, plan = asked.report.design.sizing, asked.report.plan
    if sizing.fit and plan.training:
        yield Topic("workload.parallelism", COVERS, partial(_training_reason, asked))
    elif sizing.serving and plan.inference:
        yield Topic("workload.parallelism", COVERS, partial(_serving_reason, asked))


def _training_reason(asked: ReasonInputs) -> Reason | None:
    sizing, training = asked.report.design.sizing, asked.report.plan.training
    fit = sizing.fit
    if fit is None or training is None:
        return None
    split = fit.split
    chosen = degrees_of(split)
    by_hand = training.parallelism
    because = message("because-plan" if by_hand else "because-fewest-per-replica")
    if fit.fastest:
        because = message("because-fastest", seconds=seconds_text(fit.fastest.seconds))
    if fit.recompute and fit.fits:
        because = message("because-recompute", reason=because, recompute=str(fit.recompute.value))
    held = {"reason": because, "held": asked.value(fit.per_gpu.total)}
    memory = fit.gpu_memory
    return Reason(
        "workload.parallelism",
        message("choice-split"),
        message("chosen-split", degrees=str(chosen), replicas=split.data.value),
        PLAN if by_hand else SEARCH,
        message("because-held-of", memory=asked.value(memory), **held) if memory else message("because-held", **held),
        by_hand.mark if by_hand else None,
        (*_faster(sizing), *_others(fit.reasons)),
    )


def _faster(sizing: Sizing) -> Iterator[Other]:
    """Yield a faster configuration that was rejected because it idles GPUs or recomputes more than needed."""
    faster = sizing.faster() if sizing.faster else None
    if sizing.fit and faster and (reason := describe_faster(sizing.fit, faster, int(sizing.gpus.value))):
        yield Other(str(faster.candidate), reason)


def _serving_reason(asked: ReasonInputs) -> Reason | None:
    serving, inference = asked.report.design.sizing.serving, asked.report.plan.inference
    if serving is None or inference is None:
        return None
    need, by_hand = serving.need, inference.degrees
    because = message("because-plan" if by_hand else "because-fewest-in-all")
    found = need.replica
    if found.held:
        because = message("because-requests", reason=because, requests=found.held.value)
    return Reason(
        "workload.parallelism",
        message("choice-split"),
        str(ModelSplit(found.tensor.value, found.pipeline.value, 1, 1)),
        PLAN if by_hand else SEARCH,
        because,
        by_hand.mark if by_hand else None,
        _others([reason.message for reason in need.reasons]),
    )


def _others(reasons: Sequence[Message]) -> tuple[Other, ...]:
    slower = (reason for reason in reasons if reason.code == "split-runner-up")
    refused = (reason for reason in reasons if reason.code == "split-does-not-fit")
    return (
        *(Other(_split(each), _slower(each)) for each in slower),
        *(Other(_split(each), message("not-fitting", shortage=each.parameters["shortage"])) for each in refused),
    )


def _split(reason: Message) -> str:
    """Return the configuration that a reason is about; as a message, for translation."""
    split = reason.parameters["split"]
    return split if isinstance(split, str) else str(split)


def _slower(reason: Message) -> Message:
    return message("slower-by-prediction", **{name: reason.parameters[name] for name in ("seconds", "slower")})


# fabrics ------------------------------------------------------------------------------------------------------------
# Reasons for the topology, switches, line cards, tiers, modules and cables of a fabric; reasons for all choices.

SHOWN = 5
"""Maximum number of rejected alternatives shown, nearest first."""
STEP = 2
"""Ratio of one link rate to the next."""
LEAST_GBPS = 1
"""The slowest rate that is tried, from which doubling leads up."""
_TIERS = {1: "one-tier", 2: "two-tiers", 3: "three-tiers"}


def fabric_topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield topology, tiers, uplinks and switches of every fabric."""
    for built in asked.report.design.fabrics:
        base, of = f"fabrics.{built.plan.name}", built.plan.name
        yield Topic(f"{base}.topology", (), partial(_topology, asked, built))
        if built.plan.declared.searched and built.attachment:
            yield Topic(f"{base}.tiers", (f"{base}.tiers",), partial(_tiers, asked, built))
            if len(built.fabric.tiers) > 1:
                above_leaves = built.fabric.links[1].kind
                covers = tuple(f"{base}.{key}" for key in ("ports.leaf", "switches", f"links.{above_leaves}", "pods"))
                yield Topic(f"{base}.ports.leaf.up", covers, partial(_division, asked, built))
            if built.plan.declared.scalable_units:
                yield Topic(
                    f"{base}.rails_per_leaf", (f"{base}.rails_per_leaf",), partial(_rails_per_leaf, asked, built)
                )
            yield Topic(f"{base}.build_out", (), partial(_build_out, asked, built))
        for links in built.fabric.links[1:] if built.attachment else ():
            subject = f"{base}.links.{links.kind}"
            yield Topic(subject, (subject,), partial(_rate, asked, built, links))
        for tier in built.fabric.tiers:
            covers = (f"{of}.switch.{tier.name}", f"{base}.switches.{tier.name}")
            yield Topic(f"{base}.{tier.name}.switch", covers, partial(_switch, asked, built, tier))


def _topology(asked: ReasonInputs, built: BuiltFabric) -> Reason:
    by, place, because = chosen_by(asked, built.plan.topology)
    name = asked.words.value(built.plan.topology.value, "word")
    title = message("choice-topology", fabric=built.plan.name)
    wanted = built.plan.otherwise
    others = (_other(asked, built, asked.words.value(wanted.topology.value, "word"), wanted),) if wanted else ()
    return Reason(f"fabrics.{built.plan.name}.topology", title, name, by, because, place, others)


def _dealt(asked: ReasonInputs, built: BuiltFabric) -> tuple[Demand, Figure | None] | None:
    """Return the demand on one plane of a fabric, with its homing, and the ports that have separate leaves."""
    servers, deal_ports = asked.report.design.sizing.servers, built.plan.declared.deal_ports
    if built.attachment is None or servers is None or deal_ports is None:
        return None
    whole = fabric_demand.demand(built.plan, built.attachment, servers, built.hosts)
    if built.plan.planes.value > 1:
        whole = demand_of_one_plane(whole, built.plan.planes, built.attachment.ports_per_plane)
    return deal_ports(whole._replace(homing=(built.fabric.plane or built.fabric).homing))


def _tiers(asked: ReasonInputs, built: BuiltFabric) -> Reason | None:
    dealt = _dealt(asked, built)
    if dealt is None:
        return None
    taken, wanted = len(built.fabric.tiers), count_endpoints(dealt[0])
    tried = runners_up_by_tiers(*dealt)
    place = asked.given("fabrics", built.plan.name, "tiers")
    by_plan = built.plan.tiers is not None
    switches = sum(tier.count.value for tier in built.fabric.tiers)
    return Reason(
        f"fabrics.{built.plan.name}.tiers",
        message("choice-tiers", fabric=built.plan.name),
        message("chosen-tiers", tiers=_tiers_word(taken), switches=switches),
        PLAN if by_plan else RULE,
        message("because-plan") if by_plan else message("because-fewest-tiers", endpoints=wanted),
        place,
        tuple(_other_tiers(asked, each, wanted) for each in tried if each.tiers != taken),
    )


def _tiers_word(tiers: int) -> Message:
    return message(_TIERS[tiers])


def _other_tiers(asked: ReasonInputs, tried: Tried, wanted: int) -> Other:
    name = _tiers_word(tried.tiers)
    if tried.lacks:
        return Other(name, _impossible(asked, tried.lacks))
    if tried.shape:
        return Other(name, message("not-fewest-tiers", size=_size(tried.shape), shape=str(tried.shape)))
    if tried.tiers == 1 and tried.reach >= wanted:
        return Other(name, message("not-one-switch", ports=tried.reach, endpoints=wanted))
    if tried.reach:
        return Other(name, message("not-reaching", reached=tried.reach, endpoints=wanted))
    return Other(name, message("not-even"))


def _impossible(asked: ReasonInputs, why: str) -> Message:
    if isinstance(why, Message) or asked.words.code == ENGLISH:
        return message("not-possible-because", reason=why)
    return message("not-possible")


def _division(asked: ReasonInputs, built: BuiltFabric) -> Reason | None:
    dealt = _dealt(asked, built)
    leaf = built.fabric.tier("leaf")
    if dealt is None or leaf is None or leaf.up is None:
        return None
    demand, rails = dealt
    shapes = runners_up_by_division(demand, len(built.fabric.tiers), rails)
    if not shapes:
        return None
    best, *others = shapes
    fixed = asked.given("fabrics", built.plan.name, "leaf", "uplinks")
    return Reason(
        f"fabrics.{built.plan.name}.ports.leaf.up",
        message("choice-division", fabric=built.plan.name),
        message("chosen-division", down=leaf.down.value, up=leaf.up.value, size=_size(best)),
        PLAN if fixed else SEARCH,
        message("because-uplinks-given" if fixed else "because-best-division"),
        fixed,
        tuple(Other(message("division", down=each.down, up=each.up), _worse(best, each)) for each in others[:SHOWN]),
    )


def _rate(asked: ReasonInputs, built: BuiltFabric, links: Links) -> Reason | None:
    tiers = [tier for tier in (built.fabric.tier(end) for end in links.ends) if tier]
    spec, taken = built.plan.links[links.kind], links.rate_gbps
    ports = min(max(group.port_gbps.value for group in tier.switch.groups) for tier in tiers)
    is_compute = built.plan.role == COMPUTE
    place = asked.given("fabrics", built.plan.name, "links", links.kind, "rate")
    if is_compute:
        place = place or asked.given("fabrics", built.plan.name, "link")
    found, rates = [], [max(min(built.fabric.links[0].rate_gbps.value, taken.value // STEP), LEAST_GBPS)]
    while rates[-1] < ports:
        rates.append(min(rates[-1] * STEP, ports))
    for rate in (rate for rate in rates if rate != taken.value):
        specs = {**built.plan.links, links.kind: spec._replace(rate_gbps=Figure(rate, taken.unit, taken.origin))}
        found.append(_other(asked, built, f"{rate}G", built.plan._replace(links=specs)))
    return Reason(
        f"fabrics.{built.plan.name}.links.{links.kind}",
        message("choice-rate", fabric=built.plan.name, links=links.kind),
        message("chosen-rate", links=links.count.value, rate=taken.value),
        PLAN if place else RULE,
        message("because-plan" if place else "because-cheapest-rate" if is_compute else "because-fewest-rate"),
        place,
        tuple(found),
    )


def _rails_per_leaf(asked: ReasonInputs, built: BuiltFabric) -> Reason | None:
    taken = built.fabric.rails_per_leaf
    if taken is None or built.attachment is None:
        return None
    ports = built.attachment.ports_per_plane
    place = asked.given("fabrics", built.plan.name, "rails_per_leaf")
    found = []
    for divisor in divisors(int(ports.value)):
        if divisor != taken.value:
            wanted = built.plan._replace(rails_per_leaf=Figure(divisor, taken.unit, ports.origin))
            found.append(_other(asked, built, message("count-rails", rails=divisor), wanted))
    return Reason(
        f"fabrics.{built.plan.name}.rails_per_leaf",
        message("choice-rails", fabric=built.plan.name),
        message("chosen-rails", rails=int(taken.value)),
        PLAN if place else RULE,
        message("because-plan" if place else "because-fewest-switches"),
        place,
        tuple(found),
    )


def _build_out(asked: ReasonInputs, built: BuiltFabric) -> Reason | None:
    by, place, because = chosen_by(asked, built.plan.build_out)
    taken, title = (
        asked.words.value(built.plan.build_out.value, "word"),
        message("choice-build-out", fabric=built.plan.name),
    )
    other = {"exact": "full", "full": "exact"}[str(built.plan.build_out.value)]
    wanted = built.plan._replace(build_out=Figure(other, "word", built.plan.build_out.origin))
    others = (_other(asked, built, asked.words.value(other, "word"), wanted),)
    return Reason(f"fabrics.{built.plan.name}.build_out", title, taken, by, because, place, others)


def _other(asked: ReasonInputs, built: BuiltFabric, name: str, wanted: FabricPlan) -> Other:
    return _told(asked, name, compare_design(asked.report, built, wanted))


def _told(asked: ReasonInputs, name: str, design: OtherDesign | None) -> Other:
    if design is None:
        return Other(name, message("not-possible-or-known"))
    counts = {"switches": design.switches, "links": design.links, "modules": design.modules, "cables": design.cables}
    changes = [
        message(f"more-{what}" if count > 0 else f"fewer-{what}", count=abs(count))
        for what, count in counts.items()
        if count
    ]
    if design.amount:
        amount = asked.words.money(abs(design.amount), asked.report.quote.totals.currency)
        changes.append(message(f"amount-{'more' if design.amount > 0 else 'less'}", amount=amount))
    said = changes or [message("as-many-pieces")]
    if design.fabric.switches.value == 1:
        return Other(name, message("would-take-one", changes=said))
    return Other(name, message("would-take", switches=tiers_in_words(design.fabric), changes=said))


def _size(shape: ClosShape) -> Message:
    return message("size-of-clos", switches=shape.switches, links=shape.links)


def _worse(best: ClosShape, clos_shape: ClosShape) -> Message:
    """Return by how much a shape exceeds the best one: in switches, else in links between them."""
    if clos_shape.switches > best.switches:
        more = message("more-switches", count=clos_shape.switches - best.switches)
    elif clos_shape.links > best.links:
        more = message("more-links", count=clos_shape.links - best.links)
    else:
        more = message("no-better-division")
    return message("not-best-division", more=more, shape=str(clos_shape))


def _switch(asked: ReasonInputs, built: BuiltFabric, tier: Tier) -> Reason:
    name = built.plan.name
    place = asked.given("fabrics", name, tier.name, "switch") or asked.given("fabrics", name, "switch")
    usual = built.plan.switch_by_default
    return Reason(
        f"fabrics.{name}.{tier.name}.switch",
        message("choice-switch", fabric=name, tier=tier.name),
        message("chosen-switch", count=tier.count.value, switch=named(tier.switch.identity)),
        PLAN if place else DEFAULT,
        chosen_by(asked, usual)[2] if usual else message("because-named" if place else "because-usual-switch"),
        place,
        tuple(_other_switches(asked, built, tier)),
    )


def _other_switches(asked: ReasonInputs, built: BuiltFabric, tier: Tier) -> Iterator[Other]:
    """Yield the fabric with other switches of the same protocol and port rate.

    Those with the nearest number of switches come first, then the same vendor, then by id; impossible ones are last.
    """
    servers, attached = asked.report.design.sizing.servers, built.attachment
    if servers is None or attached is None:
        return
    found, refused = list[tuple[int, bool, str, FabricPlan]](), list[Other]()
    for switch in _switches_alike(asked, tier.switch):
        name, wanted = named(switch.identity), _with_switch(built.plan, tier, switch)
        try:
            planes = fabric_demand.build_planes(wanted, attached, servers, built.hosts, built.fabric.uplink_gbps)
        except Infeasible as error:
            refused.append(Other(name, _impossible(asked, error.message)))
        else:
            more = abs(int(planes.switches.value - built.fabric.switches.value))
            found.append((more, switch.identity.vendor != tier.switch.identity.vendor, name, wanted))
    nearest = sorted(found, key=lambda each: each[:3])[:SHOWN]
    designs = compare_designs(asked.report, built, [wanted for *_, wanted in nearest])
    yield from (_told(asked, name, design) for (*_, name, _), design in zip(nearest, designs, strict=True))
    yield from refused[: SHOWN - len(nearest)]


def _switches_alike(asked: ReasonInputs, switch: Switch) -> Iterator[Switch]:
    rate = max(group.port_gbps.value for group in switch.groups)
    for id in asked.report.catalog.ids("switch", switch.protocol or "", str(rate)):
        if id == switch.identity.id:
            continue
        try:
            record = asked.report.catalog.find("switch", id)
            other = _built_in_switch(id) if record.built_in else part_records.switch(record)
        except PlanErrors:
            continue
        if other.protocol == switch.protocol and max(group.port_gbps.value for group in other.groups) == rate:
            yield other


@cache_one
def _built_in_switch(id: str) -> Switch:
    """Return a switch to compare with; there are many, and the designs with them are not part of the result."""
    return part_records.switch(built_in("switch", id))


def _with_switch(plan: FabricPlan, tier: Tier, switch: Switch) -> FabricPlan:
    """Return a fabric plan with another switch in a tier, and in higher tiers with the same switch."""
    plans = dict[str, TierChoice]()
    for name, choice in plan.tier_plans.items():
        changes = (tier.name in plans or name == tier.name) and choice.switch.identity.id == tier.switch.identity.id
        plans[name] = replace(choice, switch=switch) if changes else choice
    return plan._replace(tier_plans=plans)


# line cards ---------------------------------------------------------------------------------------------------------
# Reasons for the number of line cards in a modular switch.


def line_card_topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield the line cards of every tier of modular switches."""
    for built in asked.report.design.fabrics:
        name = built.plan.name
        for fitted in built.chassis:
            for use in fitted.uses:
                if use.kind == LINE_CARDS and use.each:
                    subject = f"fabrics.{name}.chassis.{fitted.tier}.{LINE_CARDS}"
                    covers = (f"{name}.switch.{fitted.tier}.line-cards",)
                    yield Topic(subject, covers, partial(_line_card_reason, asked, built, fitted, use, use.each))


def _line_card_reason(
    asked: ReasonInputs, built: BuiltFabric, fitted: FittedTier, use: CardUse, each: Figure
) -> Reason:
    place = asked.given("fabrics", built.plan.name, fitted.tier, LINE_CARDS)
    cards = {"cards": each.value, "switch": fitted.switch.name}
    chosen = (
        message("line-cards-of", id=use.identity.id, **cards) if use.identity else message("line-cards-each", **cards)
    )
    because = message("because-plan" if place else "because-links-of-fullest")
    others = []
    given = dict(each.inputs) if isinstance(each.origin, Derived) else {}
    if per_card := given.get("links_per_card"):
        wanted = sum(given[end].value for end in ("down", "up") if end in given)
        fewer = int((each.value - 1) * per_card.value)
        reason = message("not-enough-cards", links=fewer, needed=wanted)
        others.append(Other(message("count-cards", cards=each.value - 1), reason))
    if fitted.free_slots:
        reason = message("not-empty-cards", ports=fitted.free_slots.value)
        others.append(Other(message("cards-everywhere"), reason))
    subject = f"fabrics.{built.plan.name}.chassis.{fitted.tier}.{LINE_CARDS}"
    title = message("choice-line-cards", fabric=built.plan.name, tier=fitted.tier)
    return Reason(subject, title, chosen, PLAN if place else RULE, because, place, tuple(others))


# links --------------------------------------------------------------------------------------------------------------
# Reasons for the modules and cables of a kind of link.

BY_PLAN = ("named", "asked", "copper")
"""Reason codes for decisions of the plan."""


def link_topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield every kind of link of every fabric."""
    for built in asked.report.design.fabrics:
        for chosen in built.interconnect.choices:
            name, kind = built.plan.name, chosen.kind
            devices = [use.device for use in built.interconnect.modules if use.kind == kind]
            covers = (
                *(f"{name}.{sort}.{kind}" for sort in ("transceiver", "cable", "adapter")),
                *(f"fabrics.{name}.{sort}.{kind}" for sort in ("cables", "links")),
                *(f"fabrics.{name}.transceivers.{device}" for device in devices),
            )
            yield Topic(f"fabrics.{name}.links_chosen.{kind}", covers, partial(_link_reason, asked, built, chosen))


def _link_reason(asked: ReasonInputs, built: BuiltFabric, chosen: Chosen) -> Reason:
    words, spec = asked.words, built.plan.links[chosen.kind]
    option = words.value(chosen.option, "word")
    of_parts = words.word("link-parts", names=words.word("list-comma").join(chosen.parts)) if chosen.parts else ""
    alike = built.interconnect.server_group(chosen.kind)
    reason = words.word(f"chosen-{chosen.reason}")
    because = message("because-at-length", reason=reason, length=metres(alike.length_m)) if alike else reason
    place = asked.given("fabrics", built.plan.name, "links", chosen.kind)
    by_plan = chosen.reason in BY_PLAN
    return Reason(
        f"fabrics.{built.plan.name}.links_chosen.{chosen.kind}",
        message("choice-medium", fabric=built.plan.name, links=chosen.kind),
        f"{option}{of_parts}{_cost(asked, chosen)}",
        PLAN if by_plan else RULE,
        because,
        (place or spec.mark) if by_plan else None,
        tuple(
            Other(words.value(each.name, "word"), f"{words.message(rejection(each))}{_cost(asked, each)}")
            for each in chosen.others
        ),
    )


def _cost(asked: ReasonInputs, option: MediumOption | Chosen) -> str:
    if option.cost is None:
        return ""
    currency = asked.report.quote.totals.currency
    return asked.words.word("cost-of-link", amount=asked.words.money(rounded(option.cost, currency), currency))


# topics -------------------------------------------------------------------------------------------------------------
# Reasons for all choices of a result, as pure functions of a report.


def find_reasons(report: Report, words: Language, path: str | None = None, wide: bool = True) -> list[Reason]:
    """Return the reasons for the choices at a path of a result; for all choices without a path.

    `words`: the language of the numbers in the texts; `wide`: include reasons below the path.
    """
    found = list[Reason]()
    for cluster in report.each_cluster:
        name = cluster.plan.cluster_name
        place = "".join(f"{step}." for step in cluster_path(name))
        inner = None if path is None or place.startswith(f"{path}.") else path.removeprefix(place)
        if name and inner == path and path is not None:
            if not path.startswith(f"{name}."):
                continue
            inner = path.removeprefix(f"{name}.")
        about = reasons(ReasonInputs(cluster, words), inner, wide)
        found += [reason._replace(subject=f"{place}{reason.subject}") for reason in about]
    return found


def reasons(asked: ReasonInputs, path: str | None, wide: bool = True) -> list[Reason]:
    """Return the reasons for the choices at a bom.json path or on a bill line; all of them without a path.

    `wide`: include reasons below the path.
    """
    topics_of = (parallelism_topics, machine_topics, fabric_topics, line_card_topics, link_topics)
    topics = (topic for each in topics_of for topic in each(asked))
    found = (topic.reason() for topic in topics if path is None or _is_about(topic, path, wide))
    return [reason for reason in found if reason]


def _is_about(topic: Topic, path: str, wide: bool) -> bool:
    known = (topic.subject, *topic.covers)
    above = any(path == each or path.startswith(f"{each}.") for each in known)
    return above or (wide and any(each.startswith(f"{path}.") for each in known))
