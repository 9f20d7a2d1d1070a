"""Reasons for servers, NICs, racks, and the parallelism of a model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import Record
from bomgen.catalog.parts import Identity, Server
from bomgen.core.diagnostics import PlanErrors
from bomgen.core.formula_words import describe_formula
from bomgen.core.language import Language
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Derived, Figure, Given, Mark, walk
from bomgen.design.assembly import BuiltFabric
from bomgen.plan.attachment import ADDED, CONFIGURED, USUAL
from bomgen.plan.types import COMPUTE, OUT_OF_BAND
from bomgen.results.result import Report
from bomgen.site import racks
from bomgen.site.power import power_of
from bomgen.sizing.cluster_size import Sizing
from bomgen.sizing.storage import StoredUnits
from bomgen.sizing.training.memory import ModelSplit, degrees_of
from bomgen.sizing.training.parallelism import describe_faster, seconds_text


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


# types --------------------------------------------------------------------------------------------------------------
# Choices as data: what was selected, by whom, why, and what was rejected.

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
