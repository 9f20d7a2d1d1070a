"""Warnings about a design, each at its place in the plan: one function per subject, under `@rule`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import wraps
from math import ceil

from bomgen.catalog.part_records import CARDS
from bomgen.core.diagnostics import Infeasible, Problem
from bomgen.core.messages import Message, message
from bomgen.core.provenance import Assumed, Figure, Given, first_given
from bomgen.core.units import GIGA, PETA, TERA
from bomgen.core.yaml_source import Path, Source
from bomgen.design.assembly import BuiltFabric, Design, count_separate_parts
from bomgen.fabric.ports import carries_rate, links_of_port, split_otherwise
from bomgen.fabric.types import SERVER_LEAF, link_kinds, tiers_in_words
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import SINGLE, USUAL
from bomgen.plan.types import COMPUTE, STORAGE, Inference, Reinforcement, StorageServers, Training
from bomgen.pricing.bill import Bill
from bomgen.sizing.servers import MAX_GPUS, gpu_with_host
from bomgen.sizing.storage import Stored, StoredUnits
from bomgen.sizing.training.activations import micro_batches
from bomgen.sizing.training.run import SECONDS_A_DAY
from bomgen.sizing.training.states import adapts

OF_SWITCHES = (
    *("switch", "leaf", "spine", "core", "pod", "tiers", "planes", "oversubscription", "build_out", "links"),
    *("nic", "gpus_per_nic", "ports_per_server", "scalable_unit", "reserved_ports", "hosts"),
)
"""Fabric keys that concern its switches, or the modules and cables in them."""
INFINIBAND = "infiniband"
"""The protocol whose links require a subnet manager."""
STARVED = Fraction(1, 2)
"""Minimum network to PCIe bandwidth per GPU; published designs have 0.78 (400 of 512 Gb/s, 200 of 256 Gb/s)."""
BOLD_MFU = Fraction(7, 10)
"""Maximum plausible MFU; published runs reach 65 % (MaxText, Llama 2 70B, 512 TPU v5p), 51 % over the full run."""


Rule = Callable[[Design], Iterator[Problem]]
RULES: list[Rule] = []
"""Functions that yield warnings about a design, in the order of the module."""


def rule(function: Rule) -> Rule:
    """Register a function that yields warnings about a design."""
    RULES.append(function)
    return function


def fabric_rule(function: Callable[[Design, BuiltFabric], Iterator[Problem]]) -> Rule:
    """Register a function that yields warnings about one fabric of a design."""

    @wraps(function)
    def of_each_fabric(designed: Design) -> Iterator[Problem]:
        for built in designed.fabrics:
            yield from function(designed, built)

    return rule(of_each_fabric)


def design_warnings(designed: Design) -> list[Problem]:
    """Return warnings about a design: links, racks, memory, days."""
    return [problem for find in RULES for problem in find(designed)]


def _warning(built: BuiltFabric, text: Message, rule: str, key: str) -> Problem:
    return Problem(built.plan.mark, "warning", text, rule, f"fabrics.{built.plan.name}.{key}")


@fabric_rule
def _links(_: Design, built: BuiltFabric) -> Iterator[Problem]:
    for problem in built.interconnect.problems:
        yield problem._replace(path=f"fabrics.{built.plan.name}.{problem.path}")


@fabric_rule
def _islands(_: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about pods that the plan leaves without a core."""
    parts = count_separate_parts(built.fabric)
    if parts > 1:
        path = f"fabrics.{built.plan.name}"
        yield Problem(built.plan.mark, "warning", message("islands", pods=parts), "unreachable", path)


@fabric_rule
def _pods_of_one_rail(_: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about rail-optimized pods of a given size that may hold one rail or all rails."""
    plane, spine = built.fabric.plane or built.fabric, built.plan.tier_plans.get("spine")
    given = built.plan.pod_leaves or (spine.per_pod if spine else None)
    said = not isinstance(built.plan.pod_rails.origin, Assumed) or not built.plan.declared.scalable_units
    if given is None or isinstance(given.origin, Assumed) or said:
        return
    if plane.pods is None or plane.seats is None or len(plane.seats.value.rails) == 1:
        return
    spines = next(tier.count.value for tier in plane.tiers if tier.name == "spine")
    text = message("pods-of-one-rail", pods=plane.pods.value, spines=spines)
    yield Problem(first_given(given) or built.plan.mark, "warning", text, "pod-rails", f"fabrics.{built.plan.name}")


def _enough(designed: Design, required: Figure) -> Message:
    server = designed.plan.cluster.server
    of_server = server.gpus.value if server else 1
    count = ceil(Fraction(required.value, of_server)) * of_server
    return message("enough-gpus", count=count) if count <= MAX_GPUS else message("no-cluster-is-enough")


@fabric_rule
def _bought_cards(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about NICs bought in place of a server's own, or because the server's own are unknown."""
    server, attached, nic = designed.plan.cluster.server, built.attachment, built.added_nic
    if nic is None or server is None or attached is None:
        return
    if attached.supply == USUAL:
        count = attached.nics_per_server.value
        text = message("usual-nic", nic=nic.identity.name, count=count, server=server.identity.name)
        yield _warning(built, text, "usual-nic", "nic")
    elif server.compute and server.nics_included and built.plan.role == COMPUTE:
        text = message("own-nics", nic=nic.identity.name, count=server.compute.count.value, server=server.identity.name)
        yield _warning(built, text, "own-nics", "nic")


@fabric_rule
def _machines(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about hosts, or chips of a pod, that may not be connected as the reader assumes."""
    plan = designed.plan
    if built.plan.role == STORAGE and not built.hosts:
        yield _warning(built, message("no-storage"), "no-storage", "hosts")
    listed = [hosts for hosts in built.plan.hosts if hosts.part is None]
    if built.plan.role == STORAGE and listed and plan.storage.servers:
        text = message("storage-twice", name=plan.storage.servers[0].identity.name)
        yield _warning(built, text, "twice", "hosts")
    leaf, links = built.plan.tier_plans.get("leaf"), built.fabric.links_of(SERVER_LEAF.name)
    for hosts in built.plan.hosts:
        rails = built.fabric.planes.value if built.fabric.planes else 1
        own = (hosts.link and hosts.link.rate_gbps) or (hosts.plug and hosts.plug.port_gbps)
        splits = leaf and own and any(carries_rate(group, own) for group in leaf.switch.groups)
        if own and leaf and links and splits and isinstance(hosts.pieces.origin, Given):
            taken, possible = (links_of_port(leaf.switch, rate) for rate in (links.rate_gbps, own))
            if own.value < links.rate_gbps.value and taken < possible:
                numbers = {"own": own.value, "rate": links.rate_gbps.value, "taken": taken, "possible": possible}
                text = message("slow-hosts", name=hosts.name, switch=leaf.switch.identity.name, **numbers)
                yield _warning(built, text, "slow-hosts", "hosts")
        if built.plan.declared.isolated_rails and hosts.ports.value < rails:
            text = message("rails-unreached", name=hosts.name, ports=hosts.ports.value, rails=rails)
            yield Problem(
                first_given(hosts.ports) or built.plan.mark,
                "warning",
                text,
                "rails",
                f"fabrics.{built.plan.name}.hosts",
            )
    chips, gpus = plan.cluster.gpu.pod_chips, designed.sizing.gpus.value
    if built.plan.switchless and chips and gpus % chips.value:
        code = "pods-not-whole" if gpus > chips.value else "pod-partial"
        yield _warning(built, message(code, chips=gpus, pod=chips.value), "whole-pods", "links")


@fabric_rule
def _ports_that_add_switches(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about compute fabrics where few ports of other hosts, or reserved ones, add more switches.

    Other fabrics are skipped: the attached hosts are their purpose.
    """
    servers = designed.sizing.servers
    fabric, attached = built.fabric, built.attachment
    if built.plan.role != COMPUTE or attached is None or servers is None:
        return
    ports = fabric.endpoints.value - servers.value * attached.ports_per_server.value
    if not 0 < ports < fabric.switches.value:
        return
    with suppress(Infeasible):
        plan = built.plan._replace(reserved_ports=None)
        bare = fabric_demand.build_planes(plan, attached, servers, uplink_gbps=fabric.uplink_gbps)
        if fabric.switches.value - bare.switches.value > ports:
            numbers = {"bare": tiers_in_words(bare), "taken": tiers_in_words(fabric)}
            text = message("ports-add-switches", fabric=built.plan.name, ports=ports, **numbers)
            yield _warning(built, text, "few-ports", "switches")


@fabric_rule
def _unread_splits(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about switches whose breakout is not documented, if the number of switches depends on it."""
    servers = designed.sizing.servers
    if built.attachment is None or servers is None:
        return
    slowest = min((link.rate_gbps for link in built.fabric.links), key=lambda rate: rate.value)
    for switch in {tier.switch.identity: tier.switch for tier in built.plan.tier_plans.values()}.values():
        otherwise = split_otherwise(switch, slowest)
        if otherwise is None:
            continue
        tiers = {
            name: replace(tier, switch=otherwise) if tier.switch.identity == switch.identity else tier
            for name, tier in built.plan.tier_plans.items()
        }
        plan = built.plan._replace(tier_plans=tiers)
        with suppress(Infeasible):
            rate = built.fabric.uplink_gbps
            would = fabric_demand.build_planes(plan, built.attachment, servers, built.hosts, uplink_gbps=rate)
            if would.switches.value != built.fabric.switches.value:
                splits = {"split": links_of_port(switch, slowest), "other": links_of_port(otherwise, slowest)}
                counts = {"taken": tiers_in_words(built.fabric), "would": tiers_in_words(would)}
                text = message("split-unread", switch=switch.identity.name, rate=slowest.value, **splits, **counts)
                yield _warning(built, text, "split-unread", "switches")


@fabric_rule
def _chassis(_: Design, built: BuiltFabric) -> Iterator[Problem]:
    found: dict[tuple[str, Message], None] = {}
    for fitted in built.chassis:
        name = fitted.switch.name
        nameless = [use.kind for use in fitted.uses if use.identity is None and use.quantity.value]
        unnumbered = [use.kind for use in fitted.uses if use.identity and use.identity.part_number is None]
        uncounted = [use.kind for use in fitted.uses if use.each is None]
        if nameless:
            found["no-part-known", message("cards-without-part", names=_named(nameless), switch=name)] = None
        if unnumbered:
            found["inline-part", message("cards-without-number", names=_named(unnumbered), switch=name)] = None
        if uncounted:
            found["unknown-count", message("cards-uncounted", names=_named(uncounted), switch=name)] = None
    for code, text in found:
        yield _warning(built, text, code, "chassis")


@fabric_rule
def _single_points_of_failure(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about fabrics that all hosts lose with one switch, or a host with one module.

    Compute fabrics are skipped: a run stops with any of their parts, and restarts without it.
    """
    servers = designed.sizing.servers
    attached = built.attachment
    if built.plan.role == COMPUTE or attached is None or servers is None or servers.value == 1:
        return
    if built.fabric.switches.value == 1:
        several = attached.ports_per_server.value > 1
        text = message("one-switch" if several else "one-switch-one-port", fabric=built.plan.name)
        yield _warning(built, text, "single-point", "switches")
    elif needed := _switches_for_two_leaves(built, servers):
        numbers = {"dual": needed, "single": tiers_in_words(built.fabric)}
        text = message("one-leaf", fabric=built.plan.name, ports=attached.ports_per_server.value, **numbers)
        yield _warning(built, text, "single-point", "homing")
    elif _ends_in_one_module(built):
        text = message("one-module", fabric=built.plan.name, ports=attached.ports_per_server.value)
        yield _warning(built, text, "single-point", "ports.leaf")
    elif _meets_on_one_spine(built):
        yield _warning(built, message("one-spine", fabric=built.plan.name), "single-point", "switches.spine")


def _switches_for_two_leaves(built: BuiltFabric, servers: Figure) -> str | None:
    """Return the switches that surviving a leaf failure requires, if the default is one leaf; None otherwise."""
    homing, attached = built.fabric.homing, built.attachment
    by_default = homing is not None and homing.value == SINGLE and isinstance(built.plan.homing.origin, Assumed)
    if not by_default or attached is None or built.plan.homing.value == SINGLE:
        return None
    wanted = fabric_demand.demand(built.plan, attached, servers, built.hosts)
    dual = fabric_demand.build_on_two_leaves(built.plan, attached, wanted)
    return tiers_in_words(dual) if dual else None


def _meets_on_one_spine(built: BuiltFabric) -> bool:
    """Return whether hosts on different leaves lose each other with one spine; dual-homed ones on two leaves do not."""
    spine, leaf, homing = built.fabric.tier("spine"), built.fabric.tier("leaf"), built.fabric.homing
    if spine is None or leaf is None or spine.count.value > 1 or leaf.count.value == 1:
        return False
    return leaf.count.value > 2 or homing is None or homing.value == SINGLE


def _ends_in_one_module(built: BuiltFabric) -> bool:
    attached, plane = built.attachment, built.fabric.plane or built.fabric
    group = built.interconnect.server_group(SERVER_LEAF.name)
    if attached is None or plane.seats is None or group is None or group.medium is None or built.plan.planes.value > 1:
        return False
    module = group.medium.upper
    together = len(plane.seats.value.rails) == 1 and module is not None
    return together and 1 < attached.ports_per_server.value <= (module.ports.value if module else 0)


@fabric_rule
def _subnet_managers(_: Design, built: BuiltFabric) -> Iterator[Problem]:
    """Yield warnings about InfiniBand fabrics without a known subnet manager, or with a single appliance as one.

    Reserved ports are assumed to be for one.
    """
    for host in built.hosts:
        if host.part and host.part.subnet_manager and host.pieces.value == 1:
            text = message("one-manager", fabric=built.plan.name, name=host.part.identity.name)
            yield _warning(built, text, "single-point", "hosts")
    switches = [tier.switch for tier in built.fabric.tiers]
    managed = built.plan.reserved_ports or any(switch.managed or switch.protocol != INFINIBAND for switch in switches)
    if not switches or managed or any(host.part and host.part.subnet_manager for host in built.hosts):
        return
    names = list(dict.fromkeys(switch.identity.name for switch in switches))
    text = message("no-subnet-manager", fabric=built.plan.name, names=names)
    yield _warning(built, text, "subnet-manager", "switches")


@fabric_rule
def _gpu_links(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    if built.per_gpu is None or built.per_gpu.pcie_gbps is None:
        return
    network, pcie = built.per_gpu.network_gbps.value, built.per_gpu.pcie_gbps.value
    if pcie * STARVED <= network <= pcie:
        return
    code = "nic-ratio-high" if network > pcie else "nic-ratio-low"
    gpu = designed.plan.cluster.gpu.identity.name
    text = message(code, network=f"{float(network):g}", gpu=gpu, pcie=pcie)
    yield _warning(built, text, "nic-ratio", "per_gpu.network_gbps")


@fabric_rule
def _nic_slots(designed: Design, built: BuiltFabric) -> Iterator[Problem]:
    server = designed.plan.cluster.server
    if server is None or server.nic_slot_gbps is None:
        return
    slot = server.nic_slot_gbps.value
    attached = built.attachment
    if attached is None or attached.bought is None:
        return
    ports = Fraction(attached.ports_per_server.value) / attached.nics_per_server.value
    rate = ports * built.fabric.links[0].rate_gbps.value
    if rate > slot:
        text = message(
            "nic-slot",
            nic=attached.bought.identity.name,
            rate=f"{float(rate):g}",
            server=server.identity.name,
            slot=slot,
        )
        mark = attached.bought.identity.mark or built.plan.mark
        yield Problem(mark, "warning", text, "nic-slot", f"fabrics.{built.plan.name}.nic")


@rule
def _servers_not_connected(designed: Design) -> Iterator[Problem]:
    """Yield a warning about several servers without a compute fabric: ruled out, or where their GPUs have own ports."""
    plan, servers = designed.plan, designed.sizing.servers
    server, connected = plan.cluster.server, any(fabric.role == COMPUTE for fabric in plan.fabrics)
    idle = server is not None and server.compute is not None and server.nic is None and not connected
    mark = plan.no_compute or (plan.cluster.mark if idle else None)
    if mark is None or servers is None or servers.value == 1:
        return
    text = message("servers-not-connected", servers=servers.value)
    yield Problem(mark, "warning", text, "not-connected", "fabrics.compute")


@rule
def _spares_in_one_server(designed: Design) -> Iterator[Problem]:
    """Yield a warning about spare replicas that do not replace those of a server that fails."""
    inference, served, server = designed.plan.inference, designed.sizing.serving, designed.plan.cluster.server
    spares = inference.spare_replicas if inference else None
    if spares is None or not spares.value or served is None or server is None or served.replicas is None:
        return
    replicas, needed = int(served.replicas.value), int(served.need.replicas_to_buy.value - spares.value)
    lost = min(ceil(Fraction(server.gpus.value) / served.need.replica.gpus.value), replicas)
    if replicas - lost < needed:
        text = message("spares-in-one-server", lost=lost, replicas=replicas, left=replicas - lost, needed=needed)
        yield Problem(first_given(spares) or designed.plan.mark, "warning", text, "spare-replicas", "workload.replicas")


@rule
def _unpublished_gpus(designed: Design) -> Iterator[Problem]:
    """Yield a warning about a chassis with a number of GPUs that nobody publishes."""
    server, gpus = designed.plan.cluster.server, designed.sizing.gpus
    if (
        server
        and server.without_cards
        and not server.identity.inline
        and server.gpus.value not in server.published_gpus
    ):
        published = (
            message("published-gpus", counts=[str(count) for count in server.published_gpus])
            if server.published_gpus
            else message("no-published-gpus")
        )
        text = message("unpublished-gpus", server=server.identity.name, published=published)
        yield Problem(
            first_given(gpus) or designed.plan.cluster.mark, "warning", text, "unpublished-gpus", "cluster.server"
        )


@rule
def _part_of_a_rack(designed: Design) -> Iterator[Problem]:
    """Yield a warning about GPUs that do not fill a rack of a rack-scale system, which is sold whole."""
    cluster, sizing = designed.plan.cluster, designed.sizing
    server = cluster.server
    if server is None or server.trays is None or sizing.servers is None:
        return
    racks = ceil(sizing.servers.value / server.trays.value)
    bought = racks * server.trays.value * server.gpus.value
    if sizing.gpus.value < bought:
        text = message(
            "part-of-a-rack", used=sizing.gpus.value, bought=bought, racks=racks, server=server.identity.name
        )
        mark = first_given(sizing.gpus) or cluster.mark
        yield Problem(mark, "warning", text, "part-of-a-rack", "cluster.gpus")


@rule
def _training(designed: Design) -> Iterator[Problem]:
    training, sizing = designed.plan.training, designed.sizing
    if training is None or sizing.run is None or sizing.fit is None:
        return
    mfu, split = sizing.run.mfu_by_convention.get("none", sizing.run.mfu), sizing.fit.split
    if mfu.value > BOLD_MFU:
        text = message("bold-mfu", share=f"{float(mfu.value):.0%}", most=f"{float(BOLD_MFU):.0%}")
        yield Problem(first_given(mfu) or training.mark, "warning", text, "bold-mfu", "workload.mfu")
    batch, sequence = training.batch_tokens, training.sequence
    if sequence and (isinstance(batch.origin, Given) or training.predicted):
        least = sequence.value * training.micro_batch.value * split.data.value
        if batch.value < least:
            text = message("small-batch", batch=batch.value, replicas=split.data.value, least=least)
            yield Problem(first_given(batch) or training.mark, "warning", text, "small-batch", "workload.days")
    if sequence and training.gradient_precision.value == "none":
        count = micro_batches(batch, sequence, training.micro_batch, split.data).value
        if count > 1 or split.pipeline.value > 1:
            text = message("update-in-backward", count=count, stages=split.pipeline.value)
            yield Problem(training.mark, "warning", text, "gradients", "workload.memory.per_gpu.gradients")
    server = designed.plan.cluster.server
    if server and not server.trays and split.tensor.value > server.gpus.value:
        gpus = server.gpus.value
        text = message("wide-tensor", tensor=split.tensor.value, gpus=gpus, most=gpus)
        yield Problem(first_given(split.tensor) or training.mark, "warning", text, "wide-tensor", "workload.days")
    if sizing.lost and sizing.lost.goodput.value == 0:
        mark = designed.plan.storage.mark
        yield Problem(mark, "warning", message("no-goodput"), "no-goodput", "workload.lost_time.goodput")


@rule
def _computing_target(designed: Design) -> Iterator[Problem]:
    compute, target, reached = designed.plan.compute, designed.sizing.target, designed.sizing.peak_flops
    if compute is None or target is None or target.gpus_required is None:
        return
    days, wanted = designed.sizing.days, compute.target_days
    if days and wanted and days.value > wanted.value:
        text = message(
            "target-hours",
            gpus=designed.sizing.gpus.value,
            days=f"{float(days.value):.2f}",
            target=f"{float(wanted.value):g}",
            remedy=_enough(designed, target.gpus_required),
        )
        yield Problem(first_given(wanted) or compute.mark, "warning", text, "target-missed", "workload.days")
    if target.target_flops and reached and reached.value < target.target_flops.value:
        text = message(
            "target-pflops",
            gpus=designed.sizing.gpus.value,
            reached=f"{float(reached.value / PETA):.4g}",
            target=f"{float(target.target_flops.value / PETA):g}",
            remedy=_enough(designed, target.gpus_required),
        )
        place = first_given(target.target_flops) or compute.mark
        yield Problem(place, "warning", text, "target-missed", "workload.peak_flops")


@rule
def _site(designed: Design) -> Iterator[Problem]:
    plan = designed.plan
    place = plan.site.mark if plan.site else plan.cluster.mark
    yield from (Problem(place, "warning", text, code, "site") for text, code in designed.facility.warnings)


@rule
def _missed_goals(designed: Design) -> Iterator[Problem]:
    training, sizing = designed.plan.training, designed.sizing
    if training is None or sizing.run is None or sizing.fit is None:
        return
    if sizing.fit.warning:
        mark = training.parallelism.mark if training.parallelism else training.mark
        yield Problem(mark, "warning", sizing.fit.warning, "memory", "workload.memory.per_gpu.total")
    target, required = training.target_days, sizing.run.gpus_required
    if target and sizing.days and sizing.days.value > target.value:
        text = message(
            "target-days",
            gpus=sizing.gpus.value,
            days=f"{float(sizing.days.value):.2f}",
            target=f"{float(target.value):g}",
            remedy=_enough(designed, required) if required else message("more-gpus"),
        )
        yield Problem(first_given(target) or training.mark, "warning", text, "target-missed", "workload.days")


@rule
def _learning(designed: Design) -> Iterator[Problem]:
    learning, sizing = designed.plan.reinforcement, designed.sizing
    if learning is None or sizing.reinforced is None or sizing.days is None:
        return
    target = learning.target_days
    if target and sizing.days.value > target.value:
        days, wanted = f"{float(sizing.days.value):.2f}", f"{float(target.value):g}"
        remedy = message("more-gpus")
        text = message("target-days", gpus=sizing.gpus.value, days=days, target=wanted, remedy=remedy)
        yield Problem(first_given(target) or learning.mark, "warning", text, "target-missed", "workload.days")
    moved, memory = sizing.reinforced.host, gpu_with_host(designed.plan.cluster).host_memory
    if moved and memory and moved.value > memory.value:
        needed, most = (f"{float(each.value / GIGA):.4g} GB" for each in (moved, memory))
        text = message("host-while-generating", needed=needed, memory=most)
        path = "workload.reinforcement.host_bytes_per_gpu"
        yield Problem(learning.mark, "warning", text, "memory", path)


def _named(kinds: list[str]) -> list[Message]:
    return [message(CARDS[kind]) for kind in kinds]


@rule
def _serving(designed: Design) -> Iterator[Problem]:
    inference, serving = designed.plan.inference, designed.sizing.serving
    if inference is None or serving is None:
        return
    if shortage := serving.need.shortage:
        mark = inference.degrees.mark if inference.degrees else inference.mark
        yield Problem(mark, "warning", shortage.message, "memory", "workload.memory.per_gpu.total")
    for caution in serving.cautions:
        mark = first_given(caution.about) or inference.mark
        yield Problem(mark, "warning", caution.message, caution.rule, caution.path)


@rule
def _storage(designed: Design) -> Iterator[Problem]:
    storage, stored, lost = designed.plan.storage, designed.sizing.stored, designed.sizing.lost
    if lost and storage.checkpoint_every:
        written, every = lost.checkpoint.write_seconds.value, storage.checkpoint_every.value * SECONDS_A_DAY
        if written >= every:
            text = message("checkpoint-time", written=f"{float(written):.0f}", every=f"{float(every):.0f}")
            place = first_given(storage.checkpoint_every) or storage.mark
            yield Problem(place, "warning", text, "checkpoint-time", "storage.checkpoint_interval_days")
    if stored is None:
        return
    for named, found in zip(storage.servers, stored.units, strict=True):
        yield from _slowed_storage(named, found)
    yield from _short_storage(storage.servers, stored)
    yield from _estimated_storage(stored)


def _slowed_storage(named: StorageServers, cabled: StoredUnits) -> Iterator[Problem]:
    slowed = [
        (rated, found)
        for rated, found in ((named.read, cabled.of.read), (named.write, cabled.of.write))
        if rated and found and found.value < rated.value
    ]
    if slowed and named.ports:
        rated, carried = max(slowed, key=lambda each: each[0].value)
        text = message(
            "storage-ports",
            name=named.identity.name,
            ports=named.ports.value,
            carried=f"{float(carried.value / GIGA):g}",
            rated=f"{float(rated.value / GIGA):g}",
        )
        yield Problem(named.mark, "warning", text, "storage-ports", "storage.servers")


def _short_storage(named: Sequence[StorageServers], stored: Stored) -> Iterator[Problem]:
    """Yield warnings about needs that a storage system falls short of, or has no published figure for."""
    needs = (
        (("storage-short-capacity", "storage-unrated-capacity"), TERA, stored.capacity_bytes, "capacity_bytes"),
        (("storage-short-read", "storage-unrated-read"), GIGA, stored.bandwidth.read, "read"),
        (("storage-short-write", "storage-unrated-write"), GIGA, stored.bandwidth.write, "write"),
    )
    sold = [part for part in stored.units if not part.of.switch_ports]
    front = [part for part in sold if part.of.ports] or sold
    behind = [part for part in sold if part not in front]
    for (short, unrated), scale, need, key in needs:
        unit = "TB" if scale == TERA else "GB/s"
        serving = sold if key == "capacity_bytes" else front
        rated = [part for part in serving if getattr(part.of, key)]
        if need and sold and not rated and not any(part.of.identity.inline for part in sold):
            names = [part.of.identity.name for part in serving]
            text = message(unrated, names=names, needed=f"{float(need.value / scale):g}", unit=unit)
            yield Problem(named[0].mark, "warning", text, "storage-unrated", "storage.servers")
        for parts in (rated, [] if serving is sold else [part for part in behind if getattr(part.of, key)]):
            yield from _short_parts(short, scale, unit, need, key, parts, named)


def _short_parts(
    short: str,
    scale: int,
    unit: str,
    need: Figure | None,
    key: str,
    parts: list[StoredUnits],
    named: Sequence[StorageServers],
) -> Iterator[Problem]:
    """Yield a warning if parts whose numbers the plan gives fall short of a need together."""
    ids = [part.of.identity.id for part in parts]
    if need and parts and all(part.pieces for part in named if part.identity.id in ids):
        held = sum(getattr(part, key).value for part in parts)
        if held < need.value:
            last, of_one = parts[-1], getattr(parts[-1].of, key).value
            more = ceil(Fraction(need.value - held) / of_one)
            text = message(
                short,
                count=last.number.value,
                name=last.of.identity.name,
                held=f"{float(held / scale):g}",
                unit=unit,
                needed=f"{float(need.value / scale):g}",
                enough=last.number.value + more,
            )
            yield Problem(last.of.mark, "warning", text, "storage-short", "storage.servers")


def _estimated_storage(stored: Stored) -> Iterator[Problem]:
    """Yield a warning for each figure of a storage system that stands in for an unpublished one."""
    figures = (
        ("storage-estimated-capacity", TERA, "TB", "capacity_bytes"),
        ("storage-estimated-read", GIGA, "GB/s", "read"),
        ("storage-estimated-write", GIGA, "GB/s", "write"),
    )
    for code, scale, unit, key in figures:
        for part in stored.units:
            figure = getattr(part.of, key)
            if figure and figure.bounds:
                each, low, high = (f"{float(value / scale):.4g}" for value in (figure.value, *figure.bounds))
                text = message(code, name=part.of.identity.name, each=each, low=low, high=high, unit=unit)
                yield Problem(part.of.mark, "warning", text, "estimated-storage", "storage.servers")


def ineffective_keys(source: Source, designed: Design, billed: Bill, racked: bool) -> Iterator[Problem]:
    """Yield warnings about plan keys without effect; `racked`: some cluster of the plan counts racks."""
    plan = designed.plan
    said: list[tuple[Path, Message]] = []
    for built in designed.fabrics:
        base: Path = ("fabrics", built.plan.name)
        if built.plan.switchless:
            reason = message("no-switches", topology=str(built.plan.topology.value))
            said += [((*base, key), reason) for key in OF_SWITCHES]
            continue
        tiers = message("tiers-of-fabric", count=len(built.fabric.tiers))
        kinds = {link.kind for link in built.fabric.links}
        said += [((*base, "links", kind), tiers) for kind in link_kinds() if kind not in kinds]
        said += [((*base, tier), tiers) for tier in ("spine", "core") if built.fabric.tier(tier) is None]
        topology = built.plan.declared
        if len(built.fabric.tiers) == 1:
            said += [((*base, "leaf", key), tiers) for key in ("servers", "uplinks")]
            said.append(((*base, "pod"), tiers))
            if not topology.has_peers:
                said.append(((*base, "oversubscription"), tiers))
            if not (topology.has_peers or topology.uplinked):
                said.append(((*base, "leaf", "downlinks"), tiers))
        if "core" not in topology.tiers:
            reason = message("single-switch-tier") if topology.one_switch else tiers
            said.append(((*base, "tiers"), reason))
        if built.fabric.tier("core") is None:
            said.append(((*base, "oversubscription", "spine"), tiers))
        if plan.cluster.round_up_to.value != "scalable_unit" and not built.plan.declared.scalable_units:
            said.append(((*base, "scalable_unit"), message("nothing-rounded-up")))
    if plan.cluster.server and plan.cluster.server.rack_scale:
        supplied = message("own-power-supply", server=plan.cluster.server.identity.name)
        said += [(("site", "rack", key), supplied) for key in ("pdus", "pdu")]
    if plan.cluster.gpu.pod_chips:
        said += _ineffective_switches(source, {fabric.name for fabric in plan.fabrics})
    if plan.training:
        said += _ineffective_degrees(plan.training)
    if plan.inference:
        said += _ineffective_options(plan.inference)
    if plan.reinforcement:
        said += _ineffective_learning(plan.reinforcement)
    if plan.cluster.gpus or plan.cluster.servers:
        said.append((("cluster", "round_up_to"), message("cluster-size-given")))
    said += _ineffective_storage(designed)
    categories = {line.category for line in billed.lines}
    said += [
        (("spares", category), message("no-such-part-billed")) for category in plan.spares if category not in categories
    ]
    used = {name for line in billed.existing for name in line.names}
    said += [
        (("existing", name), message("no-such-part-billed"))
        for name in source.data.get("existing") or ()
        if name.lower() not in used
    ]
    said += _ineffective_prices(source, designed, billed, racked)
    for path, reason in said:
        if path in source.keys:
            dotted = ".".join(str(step) for step in path)
            text = message("no-effect", key=dotted, reason=reason)
            yield Problem(source.keys[path], "warning", text, "no-effect", dotted)


def _ineffective_prices(source: Source, designed: Design, billed: Bill, racked: bool) -> Iterator[tuple[Path, Message]]:
    """Yield discounts and stock of parts not on the bill, and an exchange rate of the quote's own currency.

    If there are alternatives, discounts and stock are skipped, because alternatives may have other parts.
    """
    own = designed.plan.quote.currency
    if own in designed.plan.quote.exchange:
        yield ("quote", "exchange", own), message("own-currency")
    if designed.plan.operation and designed.plan.operation.rack_cost and not racked:
        yield ("operation", "rack_cost"), message("no-racks-counted")
    if designed.plan.quote.alternatives:
        return
    unbilled = message("no-such-part-billed")
    named = {name for line in billed.lines for name in line.names}
    ids = {line.id for line in billed.lines}
    quote = source.data.get("quote") or {}
    given = quote.get("discount") or {}
    for path, names, known in (
        (("stock",), source.data.get("stock") or {}, named),
        (("quote", "discount", "parts"), given.get("parts") or {}, named),
    ):
        yield from (((*path, name), unbilled) for name in names if name.lower() not in known)
    lines = given.get("lines") or {}
    missing = message("no-such-line-billed")
    yield from ((("quote", "discount", "lines", id), missing) for id in lines if id not in ids)
    categories = {line.category for line in billed.lines} | {"default", "parts", "lines"}
    yield from ((("quote", "discount", name), unbilled) for name in given if name not in categories)


def _ineffective_switches(source: Source, standing: set[str]) -> Iterator[tuple[Path, Message]]:
    """Yield fabrics with switches that connect only chips of pods; a single entry if all fabrics do."""
    if not standing:
        yield ("fabrics",), message("pod-links-only")
        return
    for name in source.data["fabrics"]:
        if name not in standing:
            yield ("fabrics", name), message("pod-links")


def _ineffective_storage(designed: Design) -> Iterator[tuple[Path, Message]]:
    storage = designed.plan.storage
    if designed.sizing.lost is None:
        for key in ("checkpoint_every", "keep", "interruption_gpu_hours", "restart"):
            yield ("storage", key), message("no-checkpoints")
    if storage.read_per_server and storage.write_per_server:
        yield ("storage", "level"), message("server-bandwidth-given")


def _ineffective_options(inference: Inference) -> Iterator[tuple[Path, Message]]:
    block = ("workload", "inference")
    if inference.tokens_per_second_per_gpu:
        yield (*block, "speculative"), message("throughput-measured")
        yield (*block, "disaggregated"), message("throughput-measured")
        yield (*block, "targets"), message("throughput-measured")
    elif inference.requests_per_minute is None:
        yield (*block, "disaggregated"), message("no-rate-asked")
        yield (*block, "pools"), message("no-rate-asked")
        yield (*block, "peak"), message("no-rate-asked")


def _ineffective_learning(learning: Reinforcement) -> Iterator[tuple[Path, Message]]:
    block = ("workload", "reinforcement")
    if learning.generation is None:
        for key in ("generation", "responses", "pools", "refit", "schedule"):
            yield (*block, key), message("responses-given")
        yield (*block, "reward"), message("no-reward")
    if learning.critic is None:
        yield (*block, "critic"), message("no-critic")


def _ineffective_degrees(training: Training) -> Iterator[tuple[Path, Message]]:
    given, tuning = training.parallelism, training.tuning
    block = ("workload", training.block)
    if given and given.pipeline.value == 1:
        yield (*block, "parallelism", "interleave"), message("single-stage")
    if given and given.tensor.value == 1:
        yield (*block, "parallelism", "sequence_parallel"), message("no-tensor-parallelism")
    if tuning and not adapts(training):
        yield (*block, "rank"), message("every-weight-trained")
        yield (*block, "target_modules"), message("every-weight-trained")
