"""Warnings about what was designed, each at its place in the plan: one function a subject, under `@rule`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import ceil

from bomgen.catalog.chassis import WORDS
from bomgen.core.diagnostics import Problem
from bomgen.core.provenance import Figure, first_given
from bomgen.core.units import GIGA, PETA, TERA
from bomgen.core.yaml_source import Path, Source
from bomgen.design.assembly import Design
from bomgen.fabric.registry import link_kinds
from bomgen.plan.types import COMPUTE, ESTIMATE, STORAGE, Training
from bomgen.pricing.bill import Bill
from bomgen.sizing.servers import MAX_GPUS
from bomgen.sizing.training.fine_tuning import adapts
from bomgen.sizing.training.run import SECONDS_A_DAY

OF_SWITCHES = (
    *("switch", "leaf", "spine", "core", "pod", "tiers", "planes", "oversubscription", "build_out", "links"),
    *("nic", "gpus_per_nic", "ports_per_server", "scalable_unit", "reserved_ports", "hosts"),
)
"""Keys of a fabric that say something of its switches, or of what is plugged into them."""
STARVED = Fraction(1, 2)
"""Published designs give a GPU 0.78 of its PCIe: 400 of 512 Gb/s on an H100, 200 of 256 on an A100."""
BOLD_MFU = Fraction(7, 10)
"""Published runs reach 65 % at most (MaxText, Llama 2 70B on 512 TPU v5p), and 51 % over their whole length."""


Rule = Callable[[Design], Iterator[Problem]]
RULES: list[Rule] = []
"""What gives warnings about a design, in the order of the module."""


def rule(function: Rule) -> Rule:
    """Register a function that gives the warnings it has about a design."""
    RULES.append(function)
    return function


def design_warnings(designed: Design) -> list[Problem]:
    """Warnings about what was designed: links, racks, memory, days."""
    return [problem for find in RULES for problem in find(designed)]


@rule
def _links(designed: Design) -> Iterator[Problem]:
    """What was found while modules and cables were chosen."""
    for built in designed.fabrics:
        for problem in built.interconnect.problems:
            yield problem._replace(path=f"fabrics.{built.plan.name}.{problem.path}")


def _enough(designed: Design, required: Figure) -> str:
    """How many GPUs would do, in whole servers."""
    server = designed.plan.cluster.server
    of_server = server.gpus.value if server else 1
    count = ceil(Fraction(required.value, of_server)) * of_server
    return f"{count} GPUs would do" if count <= MAX_GPUS else "no cluster that was ever built would do"


@rule
def _bought_cards(designed: Design) -> Iterator[Problem]:
    """Cards that are bought in place of a server's own: the server must be ordered without its own."""
    server = designed.plan.cluster.server
    own = server.compute if server else None
    for built in designed.fabrics:
        if built.bought_nic and server and own and built.plan.role == COMPUTE:
            message = (
                f"{built.bought_nic.identity.name} is bought beside the {own.count.value} NICs that "
                f"{server.identity.name} comes with; order the server without its own"
            )
            yield Problem(built.plan.mark, "warning", message, "own-nics", f"fabrics.{built.plan.name}.nic")


@rule
def _machines(designed: Design) -> Iterator[Problem]:
    """Machines beside the servers, or chips of a pod, that are not joined as a reader may think."""
    plan = designed.plan
    for built in designed.fabrics:
        path = f"fabrics.{built.plan.name}.hosts"
        if built.plan.role == STORAGE and not built.hosts:
            message = (
                "no storage is attached to it; describe it with `storage: {servers: ...}`, or as `hosts:` of the fabric"
            )
            yield Problem(built.plan.mark, "warning", message, "no-storage", path)
        if built.plan.role == STORAGE and built.plan.hosts and plan.storage.servers:
            message = (
                f"{plan.storage.servers.identity.name} is attached beside the hosts that the fabric lists; leave out "
                "those that are the same machines"
            )
            yield Problem(built.plan.mark, "warning", message, "twice", path)
        for hosts in built.plan.hosts:
            rails = built.fabric.planes.value if built.fabric.planes else 1
            if built.plan.declared.isolated_rails and hosts.ports.value < rails:
                message = (
                    f"{hosts.name} with {hosts.ports.value} ports reach as many of {rails} rails, which meet only "
                    "inside the servers; give them a port on each"
                )
                yield Problem(first_given(hosts.ports) or built.plan.mark, "warning", message, "rails", path)
        chips, gpus = plan.cluster.gpu.pod_chips, designed.sizing.gpus.value
        if built.plan.switchless and chips and gpus % chips.value:
            what = f"{gpus} chips are less than a pod of {chips.value}, whose links may not all wrap around"
            if gpus > chips.value:
                what = f"{gpus} chips do not fill whole pods of {chips.value}"
            message = f"{what}: its links are counted as those of whole tori; ask for whole pods"
            yield Problem(built.plan.mark, "warning", message, "whole-pods", f"fabrics.{built.plan.name}.links")


@rule
def _chassis(designed: Design) -> Iterator[Problem]:
    """Cards of modular switches of which the part or the number is not known."""
    for built in designed.fabrics:
        found: dict[tuple[str, str], None] = {}
        for fitted in built.chassis:
            name = fitted.switch.name
            nameless = [WORDS[use.kind] for use in fitted.uses if use.identity is None and use.quantity.value]
            unnumbered = [WORDS[use.kind] for use in fitted.uses if use.identity and use.identity.part_number is None]
            uncounted = [WORDS[use.kind] for use in fitted.uses if use.each is None]
            if nameless:
                message = (
                    f"no part known for {_listed(nameless)} of {name}; describe them under `chassis:` of the switch"
                )
                found["no-part-known", message] = None
            if unnumbered:
                message = f"{_listed(unnumbered)} of {name} have no `part_number`; give it to order them"
                found["inline-part", message] = None
            if uncounted:
                message = (
                    f"how many {_listed(uncounted, 'or')} the {name} takes is not known: the bill has a set for each "
                    "chassis; ask the vendor, or give `count` under `chassis:` of the switch"
                )
                found["unknown-count", message] = None
        for code, message in found:
            yield Problem(built.plan.mark, "warning", message, code, f"fabrics.{built.plan.name}.chassis")


@rule
def _gpu_links(designed: Design) -> Iterator[Problem]:
    """A network that starves the GPUs, or GPUs whose PCIe starves the network."""
    for built in designed.fabrics:
        if built.per_gpu is None or built.per_gpu.pcie_gbps is None:
            continue
        network, pcie = built.per_gpu.network_gbps.value, built.per_gpu.pcie_gbps.value
        name, shown = designed.plan.cluster.gpu.identity.name, f"{float(network):g} Gb/s of network"
        if network > pcie:
            message = f"{shown} a GPU; the PCIe of {name} carries {pcie} Gb/s; let GPUs share NICs, or take slower ones"
        elif network < pcie * STARVED:
            message = (
                f"{shown} a GPU, less than half of the {pcie} Gb/s that the PCIe of {name} carries; fewer GPUs to a "
                "NIC, or faster ones, would use it"
            )
        else:
            continue
        yield Problem(
            built.plan.mark, "warning", message, "nic-ratio", f"fabrics.{built.plan.name}.per_gpu.network_gbps"
        )


@rule
def _training(designed: Design) -> Iterator[Problem]:
    """What a reader should doubt of a training run: its speed, its batch, how it is cut up."""
    training, sizing = designed.plan.training, designed.sizing
    if training is None or sizing.run is None or sizing.fit is None:
        return
    mfu, split = sizing.run.mfu_by_convention.get("none", sizing.run.mfu), sizing.fit.split
    if mfu.value > BOLD_MFU:
        message = (
            f"{float(mfu.value):.0%} MFU is more than any published run reached, {float(BOLD_MFU):.0%} at most; give a "
            "measured rate, or less"
        )
        yield Problem(first_given(mfu) or training.mark, "warning", message, "bold-mfu", "workload.mfu")
    batch, sequence = training.batch_tokens, training.sequence
    if batch and sequence:
        least = sequence.value * training.micro_batch.value * split.data.value
        if batch.value < least:
            message = (
                f"a batch of {batch.value} tokens leaves some of {split.data.value} replicas without work; {least} "
                "tokens give each a micro-batch"
            )
            yield Problem(first_given(batch) or training.mark, "warning", message, "small-batch", "workload.days")
    server = designed.plan.cluster.server
    if server and not server.trays and split.tensor.value > server.gpus.value:
        message = (
            f"tensor {split.tensor.value} reaches over several servers of {server.gpus.value} GPUs, whose network is "
            f"far slower than their own links; at most {server.gpus.value} is usual"
        )
        yield Problem(first_given(split.tensor) or training.mark, "warning", message, "wide-tensor", "workload.days")
    if sizing.lost and sizing.lost.goodput.value == 0:
        message = (
            "by the estimate interruptions and checkpoints leave no time to train; write checkpoints more often, or "
            "look at `storage:` once more: bare times are days"
        )
        yield Problem(designed.plan.storage.mark, "warning", message, "no-goodput", "workload.lost_time.goodput")


@rule
def _computing_target(designed: Design) -> Iterator[Problem]:
    """Computing power that a cluster given by the plan does not reach."""
    compute, target, reached = designed.plan.compute, designed.sizing.target, designed.sizing.peak_flops
    if compute and target and reached and reached.value < target.target.value:
        message = (
            f"{designed.sizing.gpus.value} GPUs reach {float(reached.value / PETA):.4g} PFLOPS, "
            f"{float(target.target.value / PETA):g} are asked for; {_enough(designed, target.gpus_required)}"
        )
        place = first_given(compute.target) or compute.mark
        yield Problem(place, "warning", message, "target-missed", "workload.peak_flops")


@rule
def _site(designed: Design) -> Iterator[Problem]:
    """What was found while racks, power and cooling were worked out."""
    plan = designed.plan
    place = plan.site.mark if plan.site else plan.cluster.mark
    yield from (Problem(place, "warning", message, code, "site") for message, code in designed.facility.warnings)


@rule
def _missed_goals(designed: Design) -> Iterator[Problem]:
    """What a training run does not reach: the memory of its GPUs, or its target."""
    training, sizing = designed.plan.training, designed.sizing
    if training is None or sizing.run is None or sizing.fit is None:
        return
    if sizing.fit.warning:
        mark = training.parallelism.mark if training.parallelism else training.mark
        yield Problem(mark, "warning", sizing.fit.warning, "memory", "workload.memory.per_gpu.total")
    target, required = training.target_days, sizing.run.gpus_required
    if target and required and sizing.days and sizing.days.value > target.value:
        enough = "more GPUs would do" if training.goodput.value == ESTIMATE else _enough(designed, required)
        message = (
            f"{sizing.gpus.value} GPUs take {float(sizing.days.value):.2f} days, the target is "
            f"{float(target.value):g}; {enough}"
        )
        yield Problem(first_given(target) or training.mark, "warning", message, "target-missed", "workload.days")


def _listed(words: list[str], last: str = "and") -> str:
    """Words as a sentence lists them."""
    return f" {last} ".join(filter(None, (", ".join(words[:-1]), words[-1])))


@rule
def _serving(designed: Design) -> Iterator[Problem]:
    """A replica given by hand that does not hold the model, and what else must be known of what is served."""
    inference, serving = designed.plan.inference, designed.sizing.serving
    if inference is None or serving is None:
        return
    if shortage := serving.need.shortage:
        mark = inference.degrees.mark if inference.degrees else inference.mark
        yield Problem(mark, "warning", str(shortage), "memory", "workload.memory.per_gpu.total")
    for caution in serving.cautions:
        mark = first_given(caution.about) or inference.mark
        yield Problem(mark, "warning", caution.message, caution.rule, caution.path)


@rule
def _storage(designed: Design) -> Iterator[Problem]:
    """Storage that does not do what is asked of it."""
    storage, stored, lost = designed.plan.storage, designed.sizing.stored, designed.sizing.lost
    if lost and storage.checkpoint_every:
        written, every = lost.checkpoint.write_seconds.value, storage.checkpoint_every.value * SECONDS_A_DAY
        if written >= every:
            message = (
                f"a checkpoint takes {float(written):.0f} s to write, and one is asked for every {float(every):.0f} s: "
                "no time is left to train; write faster, or more rarely"
            )
            place = first_given(storage.checkpoint_every) or storage.mark
            yield Problem(place, "warning", message, "checkpoint-time", "storage.checkpoint_interval_days")
    named = storage.servers
    if stored is None or named is None or named.pieces is None:
        return
    needs = (
        ("hold", "TB", TERA, stored.capacity_bytes, named.capacity_bytes),
        ("read", "GB/s", GIGA, stored.bandwidth.read, named.read),
        ("write", "GB/s", GIGA, stored.bandwidth.write, named.write),
    )
    for verb, unit, scale, need, of_one in needs:
        if need and of_one and (all_ := named.pieces.value * of_one.value) < need.value:
            message = (
                f"{named.pieces.value} of {named.identity.name} {verb} {float(all_ / scale):g} {unit}, "
                f"{float(need.value / scale):g} are needed; {ceil(Fraction(need.value) / of_one.value)} would do"
            )
            yield Problem(named.mark, "warning", message, "storage-short", "storage.servers")


def ineffective_keys(source: Source, designed: Design, billed: Bill, racked: bool) -> Iterator[Problem]:
    """What the plan says and the result has no use for; `racked`: some cluster of the plan counts racks."""
    plan = designed.plan
    said: list[tuple[Path, str]] = []
    for built in designed.fabrics:
        base: Path = ("fabrics", built.plan.name)
        if built.plan.switchless:
            said += [((*base, key), f"a {built.plan.topology.value} has no switches") for key in OF_SWITCHES]
            continue
        tiers = f"the fabric has {len(built.fabric.tiers)} tier{'s' if len(built.fabric.tiers) > 1 else ''}"
        kinds = {link.kind for link in built.fabric.links}
        said += [((*base, "links", kind), tiers) for kind in link_kinds() if kind not in kinds]
        said += [((*base, tier), tiers) for tier in ("spine", "core") if built.fabric.tier(tier) is None]
        if len(built.fabric.tiers) == 1:
            said += [((*base, "leaf", key), tiers) for key in ("servers", "downlinks", "uplinks")]
            said += [((*base, key), tiers) for key in ("pod", "oversubscription")]
        if built.plan.declared.one_switch:
            said.append(((*base, "tiers"), "a single switch is one tier"))
        if built.fabric.tier("core") is None:
            said.append(((*base, "oversubscription", "spine"), tiers))
        if plan.cluster.round_up_to.value != "scalable_unit" and not built.plan.declared.scalable_units:
            said.append(((*base, "scalable_unit"), "nothing is rounded up to it"))
    if plan.cluster.gpu.pod_chips:
        said += _ineffective_switches(source, {fabric.name for fabric in plan.fabrics})
    if plan.training:
        said += _ineffective_degrees(plan.training)
    if plan.cluster.gpus or plan.cluster.servers:
        said.append((("cluster", "round_up_to"), "the size of the cluster is given"))
    said += _ineffective_storage(designed)
    categories = {line.category for line in billed.lines}
    said += [
        (("spares", category), "the bill has no such part") for category in plan.spares if category not in categories
    ]
    said += _ineffective_prices(source, designed, billed, racked)
    for path, reason in said:
        if path in source.keys:
            dotted = ".".join(str(step) for step in path)
            message = f"{dotted} has no effect, because {reason}; leave it out"
            yield Problem(source.keys[path], "warning", message, "no-effect", dotted)


def _ineffective_prices(source: Source, designed: Design, billed: Bill, racked: bool) -> Iterator[tuple[Path, str]]:
    """Discounts and stock of what is not on the bill, and the rate of the quote's own currency.

    Alternatives may have other parts: nothing is said of those where there are some.
    """
    own = designed.plan.quote.currency
    if own in designed.plan.quote.exchange:
        yield ("quote", "exchange", own), "the quote is in that currency"
    if designed.plan.operation and designed.plan.operation.rack_cost and not racked:
        yield ("operation", "rack_cost"), "no racks are counted"
    if designed.plan.quote.alternatives:
        return
    named = {name for line in billed.lines for name in line.names}
    ids = {line.id for line in billed.lines}
    quote = source.data.get("quote") or {}
    given = quote.get("discount") or {}
    for path, names, known in (
        (("stock",), source.data.get("stock") or {}, named),
        (("quote", "discount", "parts"), given.get("parts") or {}, named),
    ):
        yield from (((*path, name), "the bill has no such part") for name in names if name.lower() not in known)
    lines = given.get("lines") or {}
    yield from ((("quote", "discount", "lines", id), "the bill has no such line") for id in lines if id not in ids)
    categories = {line.category for line in billed.lines} | {"default", "parts", "lines"}
    yield from ((("quote", "discount", name), "the bill has no such part") for name in given if name not in categories)


def _ineffective_switches(source: Source, standing: set[str]) -> Iterator[tuple[Path, str]]:
    """Fabrics with switches over the chips of pods; where no other stands beside them, all at once."""
    reason = "the chips of a pod are joined by links of their own"
    if not standing:
        yield ("fabrics",), f"{reason}: the plan ends with sizing"
        return
    for name in source.data["fabrics"]:
        if name not in standing:
            yield ("fabrics", name), reason


def _ineffective_storage(designed: Design) -> Iterator[tuple[Path, str]]:
    """What the plan says of storage to no purpose."""
    storage = designed.plan.storage
    if designed.sizing.lost is None:
        for key in ("checkpoint_every", "keep", "interruption_gpu_hours", "restart"):
            yield ("storage", key), "there is no training run that writes checkpoints"
    if storage.read_per_server and storage.write_per_server:
        yield ("storage", "level"), "the bandwidth of a server is given"


def _ineffective_degrees(training: Training) -> Iterator[tuple[Path, str]]:
    """Keys of a run that change nothing beside others of it."""
    given, tuning = training.parallelism, training.tuning
    block = ("workload", "fine_tuning" if tuning else "training")
    if given and given.pipeline.value == 1:
        yield (*block, "parallelism", "interleave"), "there is a single pipeline stage"
    if given and given.tensor.value == 1:
        yield (*block, "parallelism", "sequence_parallel"), "it divides what tensor parallelism leaves whole"
    if tuning and not adapts(training):
        yield (*block, "rank"), "every weight is trained"
        yield (*block, "target_modules"), "every weight is trained"
