"""Cross-field checks of a bound plan, one function each under `@rule`, which the schema cannot express."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date
from fractions import Fraction
from math import ceil
from typing import Any

from bomgen.catalog.identity import metres_of, slug, unavailable_message
from bomgen.catalog.parts import Identity, Model
from bomgen.core.diagnostics import Problem, Severity
from bomgen.core.messages import message
from bomgen.core.provenance import Assumed, Figure, first_given
from bomgen.core.safety import DEVICES
from bomgen.core.yaml_source import Source, below
from bomgen.fabric.clos.shape import MAX_TIERS
from bomgen.fabric.types import Topology, describe_topologies, link_kinds
from bomgen.plan.commercial_terms import DEFAULT
from bomgen.plan.fabric_demand import protocols_of_servers
from bomgen.plan.types import (
    ASYNCHRONOUS,
    COMPUTE,
    GRPO,
    IN_BAND,
    MANAGED,
    OUT_OF_BAND,
    STORAGE,
    TWO_POOLS,
    FabricPlan,
    Plan,
)

OF_THE_SITE = ("storage", "rack", "pdu")
"""Kinds of part for which any vendor's part can be specified by part number."""
SLOTS = {"cpu": "CPU sockets", "memory": "memory slots", "nvme": "drive bays", "nics": "NIC slots"}
"""What a server has for the parts of its configuration, by key."""
MOST_CARBON = 2
"""Maximum carbon intensity [kg of CO2 equivalent per kWh]; the dirtiest coal grids have about one."""
LAST_YEAR = 2100
"""Latest plausible year of a quote."""

Rule = Callable[[Plan, Source], Iterator[Problem]]
RULES: list[Rule] = []
"""Every rule, in the order of the module."""


def rule(function: Rule) -> Rule:
    """Register a rule: a function that yields the problems it finds in a plan."""
    RULES.append(function)
    return function


def check_rules(plan: Plan, source: Source) -> list[Problem]:
    """Return every problem that the rules find in a plan, in the order of the file."""
    problems = [problem for find in RULES for problem in find(plan, source)]
    return sorted(problems, key=lambda problem: problem.mark)


def _at(plan: Plan, figure: Figure | None, text: str, rule: str, path: str, severity: Severity = "error") -> Problem:
    mark = (first_given(figure) if figure else None) or plan.mark
    return Problem(mark, severity, text, rule, path)


def _at_key(source: Source, text: str, rule: str, path: str) -> Problem:
    return Problem(source.mark(tuple(path.split("."))), "error", text, rule, path)


@rule
def name_of_a_folder(plan: Plan, source: Source) -> Iterator[Problem]:
    """Reject names of Windows devices: a folder of such a name cannot be created there."""
    if plan.name in DEVICES:
        yield _at_key(source, f"'{plan.name}' is a reserved device name on Windows; use another", "pattern", "name")


@rule
def training_run(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require one speed of a GPU, and own measured steps on whole replicas."""
    training = plan.training
    if training is None:
        return
    figures = {
        "mfu": training.predicted or training.mfu,
        "achieved_tflops": training.achieved_tflops,
        "tokens_per_second_per_gpu": training.tokens_per_second_per_gpu,
    }
    names = [name for name, figure in figures.items() if figure is not None]
    for name in names[1:]:
        text = f"{names[0]} and {name} conflict: both set the speed of a GPU; keep one"
        yield _at(plan, figures[name], text, "one-of", f"workload.{training.block}.{name}")
    for number, measurement in enumerate(training.measured):
        gpus, size = measurement.gpus.value, measurement.tensor.value * measurement.pipeline.value
        size *= measurement.context.value
        if gpus % size:
            whole = max(1, gpus // size) * size
            text = f"{gpus} GPUs are not a multiple of {size}, the size of a replica; use {whole}"
            yield _at(plan, measurement.gpus, text, "whole-replicas", f"workload.training.measured.{number}.gpus")


@rule
def cluster_size(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that the size is given once: in GPUs, in servers, in racks of a rack-scale system, or by a bound.

    The server must hold the GPU that the plan specifies.
    """
    cluster, server, gpu = plan.cluster, plan.cluster.server, plan.cluster.gpu.identity
    sizes = {"gpus": cluster.gpus, "servers": cluster.servers, "racks": cluster.racks}
    first, *rest = [name for name, figure in sizes.items() if figure] or [""]
    for name in rest:
        yield _at(plan, sizes[name], f"{first} and {name} both set the size; keep one", "one-of", f"cluster.{name}")
    for name, bound in (("power", cluster.power), ("budget", cluster.budget and cluster.budget.amount)):
        if first and bound:
            text = f"{name} sets the size to the largest that fits, and so does {first}; keep one"
            yield _at(plan, bound, text, "one-of", f"cluster.{name}")
    if cluster.racks and server and not server.trays:
        text = f"{server.identity.name} is sold individually, not by the rack; set `servers` or `gpus`"
        yield _at(plan, cluster.racks, text, "whole-racks", "cluster.racks")
    if server and server.gpu and not gpu.inline and server.gpu != gpu.id:
        text = (
            f"{server.identity.name} has {server.gpu}, but the plan sets {gpu.id}; specify a server with it, "
            f"or `gpu: {server.gpu}`"
        )
        yield _at_key(source, text, "gpu-of-server", "cluster.server")


@rule
def server_configuration(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that the server has room for the CPUs, memory modules, drives and NICs that it is ordered with."""
    server, ordered = plan.cluster.server, source.data["cluster"].get("server")
    if server is None or not isinstance(ordered, dict) or "part" not in ordered:
        return
    for key, most in server.slots.items():
        if (pieces := _pieces(ordered.get(key))) > most.value:
            room = f"{most.value} {SLOTS[key]}"
            text = f"{pieces} pieces do not fit because {server.identity.name} has {room}; use at most {most.value}"
            yield _at_key(source, text, "does-not-fit", f"cluster.server.{key}")


def _pieces(entry: Any) -> int:
    """Return the pieces of an entry of a configuration; boot drives of form M.2 have sockets of their own."""
    if isinstance(entry, str):
        counted = re.match(r"(\d{1,6}) ?[x×] ", entry)
        return 0 if "M.2" in entry else int(counted[1]) if counted else 1
    if isinstance(entry, dict) and not {"name", "part"} & entry.keys():
        return sum(map(_pieces, entry.values()))
    if isinstance(entry, dict):
        return 0 if "M.2" in entry.get("name", "") else int(entry.get("count", 1))
    return sum(map(_pieces, entry or ()))


@rule
def compute_demand(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that a demand for computing power is given once, and the keys of a volume of work with one."""
    compute, path = plan.compute, "workload.compute"
    if compute is None:
        return
    demands = {"target": compute.target, "gpu_hours": compute.gpu_hours, "flops": compute.flops}
    first, *rest = [key for key, demand in demands.items() if demand] or [""]
    if not first:
        text = "no demand is set; set one of `target`, `gpu_hours` and `flops`"
        yield Problem(compute.mark, "error", text, "missing-key", path)
    for key in rest:
        yield _at(plan, demands[key], f"{first} and {key} both set the demand; keep one", "one-of", f"{path}.{key}")
    if compute.target and compute.target_days:
        text = "a peak has no duration; remove `target_days`, or set `gpu_hours` or `flops` instead of `target`"
        yield _at(plan, compute.target_days, text, "one-of", f"{path}.target_days")


@rule
def shares_up_to_one(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit shares to 100 %: of time, speed and memory, taxes, discounts and charges; margins to less."""
    for path, share in _shares(plan):
        if share and share.unit != "word" and share.value > 1:
            text = f"{path.rpartition('.')[2]} is {float(share.value):.0%}; at most 100%"
            yield _at(plan, share, text, "range", path)
    sell = plan.quote.sell
    margins = {"quote.sell.margin": sell.margin} if sell else {}
    margins |= {f"quote.sell.by.{category}": margin for category, margin in sell.by.items()} if sell else {}
    for path, margin in margins.items():
        if margin.value >= 1:
            text = f"a margin of {float(margin.value):.0%} of the price has no price; set less than 100%"
            yield _at(plan, margin, text, "range", path)


def _shares(plan: Plan) -> Iterator[tuple[str, Figure | None]]:
    """Yield the shares of a plan that are at most 100 %, by path."""
    inference, compute, training, quoted = plan.inference, plan.compute, plan.training, plan.quote
    if inference:
        yield "workload.inference.memory_share", inference.memory_share
        yield "workload.inference.targets.percentile", inference.targets and inference.targets.percentile
    if compute:
        yield from (("workload.compute.mfu", compute.mfu), ("workload.compute.goodput", compute.goodput))
    if training:
        for key in ("mfu", "parallel_efficiency", "goodput"):
            yield f"workload.{training.block}.{key}", getattr(training, key)
    for category, rate in quoted.tax.items():
        yield "quote.tax" if category == DEFAULT else f"quote.tax.{category}", rate
    discounts = quoted.discounts
    for path, shares in (("", discounts.categories), ("parts.", discounts.parts), ("lines.", discounts.lines)):
        yield from ((f"quote.discount.{path}{name}", share) for name, share in shares.items())
    yield from ((f"quote.charges.{at}.share", charge.share) for at, charge in enumerate(quoted.charges))
    if plan.operation:
        yield from (("operation.load", plan.operation.load), ("operation.use", plan.operation.use))


@rule
def costs_to_sell(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require costs for selling by margin, and a margin for charges that only have a cost."""
    quoted = plan.quote
    if quoted.sell and not quoted.cost_books and not any(charge.cost is not None for charge in quoted.charges):
        text = "selling by margin needs costs; set `quote.cost_book`, or `cost` on a charge"
        yield Problem(quoted.sell.mark, "error", text, "no-cost-book", "quote.sell")
    for at, charge in enumerate(quoted.charges):
        if charge.sold_by_cost and quoted.sell is None:
            text = "a charge with a cost and no price is sold by margin; set `quote.sell`, or its `price`"
            yield Problem(charge.mark, "error", text, "charge", f"quote.charges.{at}")


@rule
def model_limits(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit active parameters to all of a model, and requests to its context.

    A training sequence may exceed the context, which extends it.
    """
    training, inference = plan.training, plan.inference
    for block, workload in (("training", training), ("inference", inference)):
        model = workload.model if workload else None
        if model and model.active_parameters.value > model.parameters.value:
            text = f"{model.active_parameters.value} active parameters of {model.parameters.value}; at most all"
            yield _at(plan, model.active_parameters, text, "range", f"workload.{block}.model.active_parameters")
    if inference and inference.context and (most := _exceeded(inference.model, inference.context)):
        tokens, name = inference.context.value, inference.model.identity.name
        text = f"{tokens} tokens exceed the context of {name}; at most {most}"
        yield _at(plan, inference.context, text, "range", "workload.inference.context")
    if training and training.sequence and (most := _exceeded(training.model, training.sequence)):
        name, block = training.model.identity.name, training.block
        key = "longest_response" if plan.reinforcement else "sequence"
        text = message("beyond-context", sequence=training.sequence.value, model=name, context=most)
        yield _at(plan, training.sequence, text, "context", f"workload.{block}.{key}", "warning")


def _exceeded(model: Model, tokens: Figure) -> int | None:
    most = model.shape.get("context")
    return int(most.value) if most and tokens.value > most.value > 0 else None


@rule
def site_limits(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require plausible carbon intensity and PUE, and that racks, units in them and rows have room.

    A larger carbon intensity than that of any grid is in grammes.
    """
    site, rack = plan.site, plan.site.rack if plan.site else None
    if site is None:
        return
    if site.carbon and site.carbon.value > MOST_CARBON:
        carbon = f"{float(site.carbon.value):g}"
        text = f"{carbon} kg of CO2 per kWh exceed any grid; write '{carbon} g/kWh'"
        yield _at(plan, site.carbon, text, "range", "site.carbon")
    if site.pue and site.pue.value < 1:
        yield _at(plan, site.pue, f"a PUE of {float(site.pue.value):g}; 1 or more", "range", "site.pue")
    if rack is None:
        return
    if rack.rack_units and site.rack_units.value > rack.rack_units.value:
        high = rack.rack_units.value
        text = f"{site.rack_units.value} usable units in a {rack.identity.name} of {high}; write {high} or fewer"
        yield _at(plan, site.rack_units, text, "rack-units", "site.rack.units")
    for key, pitch, millimetres, what in (
        ("rack_pitch", site.layout.rack_pitch_m, rack.width_mm, "wide"),
        ("row_pitch", site.layout.row_pitch_m, rack.depth_mm, "deep"),
    ):
        least = metres_of.plain(millimetres.value) if millimetres else 0
        if pitch.value < least:
            text = (
                f"{key} is {float(pitch.value):g} m, and a {rack.identity.name} is {float(least):g} m {what}; "
                f"write '{float(least):g} m' or more"
            )
            yield Problem(first_given(pitch) or site.layout.mark, "error", text, "layout", f"site.layout.{key}")


@rule
def reinforcement_learning(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require pools and numbers of responses that a run of reinforcement learning can have."""
    learning, path = plan.reinforcement, "workload.reinforcement"
    if learning is None:
        return
    mean, longest = learning.response_tokens.value, learning.longest.value
    if longest < mean:
        text = f"the longest response has {longest} tokens, and the mean {mean}; write {mean} or more"
        yield _at(plan, learning.longest, text, "range", f"{path}.longest_response")
    if learning.updates.value > (most := learning.prompts.value * learning.responses.value):
        text = f"{learning.updates.value} updates of {most} responses; write {most} or fewer"
        yield _at(plan, learning.updates, text, "range", f"{path}.updates")
    if learning.method.value == GRPO and learning.responses.value == 1:
        text = "grpo compares the responses to a prompt, and one has nothing to compare with; write 2 or more"
        yield _at(plan, learning.responses, text, "range", f"{path}.responses")
    if learning.generation is None or learning.pools == TWO_POOLS:
        return
    if learning.schedule.value == ASYNCHRONOUS:
        text = "`schedule: asynchronous` needs GPUs that only generate; add `pools: two`, or leave `schedule` out"
        yield _at_key(source, text, "pools", f"{path}.schedule")
    if learning.generation_gpus:
        text = "with one pool the same GPUs generate and train; add `pools: two`, or leave `gpus` out"
        yield _at_key(source, text, "pools", f"{path}.generation.gpus")


@rule
def served_requests(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require lengths of prompts and outputs that fit each other, the context, the load and the targets."""
    inference, path = plan.inference, "workload.inference"
    if inference is None:
        return
    output, context, prompt = inference.output_tokens, inference.context, inference.prompt_tokens
    accepted, drafted = inference.accepted, inference.drafted
    if drafted and accepted and accepted.value > drafted.value:
        text = f"{float(accepted.value):g} tokens accepted of {drafted.value} drafted; at most all"
        yield _at(plan, accepted, text, "range", f"{path}.speculative.accepted")
    if output and context and output.value >= context.value:
        text = (
            f"{output.value} output tokens leave no room for a prompt in {context.value} tokens of context; "
            f"at most {context.value - 1}"
        )
        yield _at(plan, output, text, "range", f"{path}.output_tokens")
    elif output and context and prompt and prompt.value + output.value > context.value:
        together = float(prompt.value + output.value)
        text = f"prompt and output take {together:g} tokens, not {context.value}; use `context: {ceil(together)}`"
        yield _at(plan, prompt, text, "range", f"{path}.prompt_tokens")
    if inference.requests_per_minute and output is None:
        text = "the number of GPUs depends on the output length; set `output_tokens`"
        yield _at(plan, inference.requests_per_minute, text, "missing-key", f"{path}.requests_per_minute")
    targets = inference.targets
    if targets and not (targets.ttft or targets.tpot):
        text = "a percentile of no time; add `ttft` or `tpot`"
        yield Problem(targets.mark, "error", text, "missing-key", f"{path}.targets")
    if targets and targets.tpot and output and not output.value:
        text = "requests without output have no time per output token; leave `tpot` out"
        yield _at(plan, targets.tpot, text, "range", f"{path}.targets.tpot")


@rule
def served_load(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that load and lengths are given once, and shares and measurements that mean something.

    The tokens per day of an offline batch are a load without latency. Some prompt tokens are in no cache.
    """
    inference, path = plan.inference, "workload.inference"
    if inference is None:
        return
    stated = source.data["workload"]["inference"]
    if inference.tokens_per_day:
        for key in (key for key in ("requests_per_minute", "concurrency", "peak", "targets") if key in stated):
            text = f"`tokens_per_day` is the load of a batch without latency; leave `{key}` out, or `tokens_per_day`"
            yield _at_key(source, text, "twice", f"{path}.{key}")
        if not inference.output_tokens or not inference.output_tokens.value:
            text = "the requests of a batch depend on the output length; set `output_tokens`"
            yield _at(plan, inference.tokens_per_day, text, "missing-key", f"{path}.tokens_per_day")
    tiers = [tier.share for tier in (inference.host_cache, inference.nvme_cache) if tier]
    total = sum(Fraction(share.value) for share in (*tiers, inference.prefix_cache) if share)
    if tiers and total >= 1:
        text = f"{float(total):.4g} of the prompt tokens are in caches; less than all, since the last one is always new"
        yield _at(plan, tiers[-1], text, "range", f"{path}.cache_tiers")
    cases = inference.use_cases
    total = sum(Fraction(case.share.value) for case in cases)
    if cases and total != 1:
        text = f"the shares add up to {float(total):.4g}; they must add up to 100%"
        yield _at(plan, cases[-1].share, text, "range", f"{path}.use_cases")
    for key in (key for key in ("prompt_tokens", "output_tokens") if cases and key in stated):
        text = f"`{key}` is given here and by `use_cases`; leave one of them out"
        yield _at_key(source, text, "twice", f"{path}.{key}")
    for measurement in inference.measured:
        if not (measurement.tpot or measurement.ttft or measurement.tokens_per_second_per_gpu):
            text = "nothing is measured here; add `tpot`, `ttft` or `tokens_per_second_per_gpu`"
            yield Problem(measurement.mark, "error", text, "missing-key", f"{path}.measured")


KEYS_OF_TOPOLOGIES: dict[str, Callable[[Topology, FabricPlan], bool]] = {
    "homing": lambda kind, fabric: fabric.homing.value in kind.homings or isinstance(fabric.homing.origin, Assumed),
    "peer_links": lambda kind, fabric: kind.has_peers or fabric.peer_links is None,
    "pod.rails": lambda kind, fabric: kind.scalable_units or isinstance(fabric.pod_rails.origin, Assumed),
    "rails_per_leaf": lambda kind, fabric: kind.scalable_units or fabric.rails_per_leaf is None,
    "split_servers": lambda kind, fabric: (kind.searched and not kind.has_rails) or fabric.split_servers is None,
}
"""Keys that not every topology has, with whether a fabric's value of it belongs to a topology."""


@rule
def keys_of_topologies(plan: Plan, source: Source) -> Iterator[Problem]:
    """Allow homing, peer links, rails of pods and leaves, and split servers only for topologies that have them."""
    for fabric in plan.fabrics:
        for key, fits in KEYS_OF_TOPOLOGIES.items():
            if not fits(fabric.declared, fabric):
                asked = f"{key}: {fabric.homing.value}" if key == "homing" else key
                names = " or ".join(kind.name for kind in describe_topologies() if fits(kind, fabric))
                text = f"{asked} is for `topology: {names}`; set that topology, or remove {key}"
                yield _at_key(source, text, "topology", f"fabrics.{fabric.name}.{key}")


@rule
def fixed_tiers(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that fixed values of tiers belong to the fabric's topology and tiers, and one way to fix each."""
    for fabric in plan.fabrics:
        path, leaf, unit = f"fabrics.{fabric.name}", fabric.tier_plans.get("leaf"), fabric.scalable_unit
        if fabric.tiers and fabric.tiers.value not in range(1, MAX_TIERS + 1):
            yield _at(plan, fabric.tiers, "tiers are auto, 1, 2 or 3", "range", f"{path}.tiers")
        below_three = fabric.tiers is not None and fabric.tiers.value < MAX_TIERS
        core, spine = fabric.tier_plans.get("core"), fabric.tier_plans.get("spine")
        for name, figure in (("core.count", core and core.count), ("spine.uplinks", spine and spine.uplinks)):
            if figure and (below_three or fabric.declared.one_switch):
                text = f"{name} is for three tiers; set `tiers: 3`, or remove it"
                yield _at(plan, figure, text, "tiers", f"{path}.{name}")
        if leaf is None:
            continue
        unit = unit if fabric.declared.has_rails else None
        if leaf.servers and leaf.downlinks:
            text = "leaf.servers and leaf.downlinks both set the downlink ports; keep one"
            yield _at(plan, leaf.downlinks, text, "one-of", f"{path}.leaf.downlinks")
        if leaf.servers and unit:
            text = "leaf.servers and scalable_unit both set how many servers share a set of leaves; keep one"
            yield _at(plan, leaf.servers, text, "one-of", f"{path}.leaf.servers")
        if leaf.downlinks and unit and leaf.downlinks.value < unit.value:
            text = f"{leaf.downlinks.value} downlinks per leaf for {unit.value} servers per unit; set at least as many"
            yield _at(plan, leaf.downlinks, text, "ports", f"{path}.leaf.downlinks")
        if fabric.uplink and leaf.uplinks:
            text = "leaf.uplinks and uplink.ports both set the uplinks of a leaf; keep uplink.ports"
            yield _at(plan, leaf.uplinks, text, "one-of", f"{path}.leaf.uplinks")


@rule
def names_of_hosts(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require distinct names of the machines on a fabric, also from those that out-of-band connects by itself."""
    for fabric in plan.fabrics:
        taken = {slug(name) for name in (MANAGED if fabric.role == OUT_OF_BAND else ())}
        data = source.data["fabrics"][fabric.name]
        for index, hosts in enumerate(data.get("hosts") or () if isinstance(data, dict) else ()):
            if slug(hosts["name"]) in taken:
                mark = source.mark(("fabrics", fabric.name, "hosts", index, "name"))
                text = f"other machines on the fabric are also called '{hosts['name']}'; give these another name"
                yield Problem(mark, "error", text, "same-name", f"fabrics.{fabric.name}.hosts")
            taken.add(slug(hosts["name"]))


@rule
def uplinks_end(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that fabrics linked into each other form no loop, and end in one with switches."""
    fabrics = {fabric.name: fabric for fabric in plan.fabrics}
    for fabric in plan.fabrics:
        seen, above = {fabric.name}, fabric
        while above.uplink and above.uplink.fabric in fabrics:
            if above.uplink.fabric in seen:
                text = f"the uplinks of {' and '.join(sorted(seen))} form a loop; end it in a fat tree"
                yield Problem(fabric.mark, "error", text, "uplink", f"fabrics.{fabric.name}.uplink")
                break
            above = fabrics[above.uplink.fabric]
            seen.add(above.name)
        if above.switchless and fabric.uplink:
            text = f"{above.name} has no switches to link to; specify a fabric with switches"
            yield Problem(fabric.uplink.mark, "error", text, "uplink", f"fabrics.{fabric.name}.uplink")


@rule
def one_protocol(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require one protocol for the switches of a fabric, its NICs or the ports of the servers, and the fabric above."""
    for fabric in plan.fabrics:
        leaf = fabric.tier_plans["leaf"].switch if "leaf" in fabric.tier_plans else None
        if leaf is None or leaf.protocol is None:
            continue
        path = f"fabrics.{fabric.name}"
        spoken_by_servers = () if fabric.nic else protocols_of_servers(plan.cluster, fabric.role)
        if spoken_by_servers and leaf.protocol not in spoken_by_servers:
            tier = (
                ("leaf", "switch") if source.keys.keys() & {("fabrics", fabric.name, "leaf", "switch")} else ("switch",)
            )
            fitting = f", for example {' or '.join(fabric.fitting_switches)}" if fabric.fitting_switches else ""
            text = (
                f"{leaf.identity.name} speaks {leaf.protocol}, the ports of {_ports_of(plan, fabric)} "
                f"{' or '.join(spoken_by_servers)}; specify a switch that does{fitting}"
            )
            yield Problem(source.mark(("fabrics", fabric.name, *tier)), "error", text, "protocol", path)
            continue
        devices: list[tuple[Identity, tuple[str | None, ...]]] = [
            (tier.switch.identity, (tier.switch.protocol,)) for tier in fabric.tier_plans.values()
        ]
        if fabric.nic and fabric.nic.protocols:
            devices.append((fabric.nic.identity, fabric.nic.protocols))
        if fabric.uplink:
            above = next(linked for linked in plan.fabrics if linked.name == fabric.uplink.fabric)
            devices += [(tier.switch.identity, (tier.switch.protocol,)) for tier in above.tier_plans.values()]
        for identity, spoken in devices:
            if None not in spoken and leaf.protocol not in spoken:
                text = (
                    f"{identity.name} speaks {' or '.join(filter(None, spoken))}, the leaf {leaf.identity.name} "
                    f"{leaf.protocol}; specify another {identity.kind}"
                )
                yield Problem(identity.mark or fabric.mark, "error", text, "protocol", path)
                break


def _ports_of(plan: Plan, fabric: FabricPlan) -> str:
    cluster = plan.cluster
    nic = {COMPUTE: cluster.server_nic, STORAGE: cluster.storage_nic, IN_BAND: cluster.storage_nic}.get(fabric.role)
    server = cluster.server.identity.name if cluster.server else "the servers"
    return f"{server} ({nic.identity.name})" if nic and fabric.role != OUT_OF_BAND else server


@rule
def dates_and_rates(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require real dates, exchange rates above 0 that are not after the quote, and distinct names of alternatives."""
    quoted = plan.quote
    if quoted.date:
        try:
            far = date.fromisoformat(quoted.date).year > LAST_YEAR
            wrong = "is too far away; use a date in this century" if far else None
        except ValueError:
            wrong = "is not a date; write YYYY-MM-DD"
        if wrong:
            mark = quoted.date_mark or source.mark(("quote",))
            yield Problem(mark, "error", f"{quoted.date} {wrong}", "date", "quote.date")
    for currency, exchange in quoted.exchange.items():
        path = f"quote.exchange.{currency}.date"
        if not exchange.rate:
            text = f"a rate of 0 for {currency}; more than 0"
            yield Problem(exchange.mark, "error", text, "range", f"quote.exchange.{currency}.rate")
        try:
            date.fromisoformat(exchange.date)
        except ValueError:
            yield Problem(exchange.mark, "error", f"{exchange.date} is not a date; write YYYY-MM-DD", "date", path)
            continue
        if quoted.date and exchange.date > quoted.date:
            text = f"the rate of {currency} is of {exchange.date}, the quote of {quoted.date}; use an earlier one"
            yield Problem(exchange.mark, "error", text, "date", path)
    previous: dict[str, str | None] = {}
    for phase in plan.phases:
        if phase.name in previous:
            text = f"two phases are called {phase.name}; give one another name"
            yield Problem(phase.mark, "error", text, "duplicate", "phases")
        latest = max(filter(None, previous.values()), default="")
        if phase.date and phase.date < latest:
            text = f"{phase.name} is dated {phase.date}, before {latest} of an earlier phase; order phases by date"
            yield Problem(phase.mark, "error", text, "date", "phases")
        previous[phase.name] = phase.date
    seen: set[str] = set()
    for alternative in quoted.alternatives:
        if alternative.name in seen:
            text = f"two alternatives are called {alternative.name}; give one another name"
            yield Problem(alternative.mark, "error", text, "duplicate", "quote.alternatives")
        seen.add(alternative.name)


def _parts(plan: Plan) -> Iterator[Identity]:
    """Yield the identities of the parts that a plan names or describes, except those of other machines on fabrics."""
    yield plan.cluster.gpu.identity
    if plan.cluster.server:
        yield plan.cluster.server.identity
    for fabric in plan.fabrics:
        yield from (tier.switch.identity for tier in fabric.tier_plans.values())
        if fabric.nic:
            yield fabric.nic.identity
    yield from (part.identity for part in plan.storage.servers)
    if site := plan.site:
        yield from (part.identity for part in (site.rack, site.pdu, site.management_pdu) if part)


@rule
def inline_parts(plan: Plan, _: Source) -> Iterator[Problem]:
    """Warn that a part described in the plan cannot be ordered."""
    for identity in dict.fromkeys(_parts(plan)):
        if identity.inline and identity.part_number is None:
            code = "inline-part-number" if identity.kind in OF_THE_SITE else "inline-part"
            text = message(code, name=identity.name)
            yield Problem(identity.mark or plan.mark, "warning", text, "inline-part", identity.kind)


@rule
def ids_of_inline_parts(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require distinct ids of parts described in the plan: a price belongs to one of them."""
    of_hosts = (hosts.part.identity for fabric in plan.fabrics for hosts in fabric.hosts if hosts.part)
    paths = {mark: path for path, mark in source.values.items()}
    by_id: dict[tuple[str, str], Identity] = {}
    for identity in dict.fromkeys((*_parts(plan), *of_hosts)):
        if not identity.inline or identity.mark is None:
            continue
        first = by_id.setdefault((identity.kind, identity.id), identity)
        marks = [part.mark for part in (first, identity) if part.mark]
        described = [below(source, paths[mark]).data for mark in marks if mark in paths]
        if described[1:] != described[:-1]:
            text = f"'{identity.name}' has the id {identity.id} of another part, at {first.mark}; give it another name"
            yield Problem(identity.mark, "error", text, "same-id", identity.kind)


@rule
def unavailable_parts(plan: Plan, source: Source) -> Iterator[Problem]:
    """Warn about parts that are no longer sold, or not yet."""
    used = [(plan.cluster.gpu.identity, plan.cluster.mark, "cluster.gpu")]
    if plan.cluster.server:
        used.append((plan.cluster.server.identity, plan.cluster.mark, "cluster.server"))
    used += [(part.identity, part.mark, "storage.servers") for part in plan.storage.servers]
    for fabric in plan.fabrics:
        parts = [tier.switch.identity for tier in fabric.tier_plans.values()]
        parts += [fabric.nic.identity] if fabric.nic else []
        parts += [hosts.part.identity for hosts in fabric.hosts if hosts.part]
        used += [(identity, fabric.mark, f"fabrics.{fabric.name}") for identity in parts]
    if site := plan.site:
        of_site = {"rack.part": site.rack, "rack.pdu": site.pdu, "management.pdu": site.management_pdu}
        for key, part in of_site.items():
            if part:
                used.append((part.identity, source.mark(("site", *key.split("."))), f"site.{key}"))
    for identity, mark, path in dict.fromkeys(used):
        if identity.availability != "available":
            text = unavailable_message(identity, identity.kind, identity.name)
            yield Problem(mark, "warning", text, "availability", path)


@rule
def countable_storage(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that parts of a storage system have a count, or something to count them by that no other part has."""
    for part in plan.storage.servers:
        by_ratio = any(partner.quantity for partner in part.partners)
        if not (part.pieces or part.rated or by_ratio or part.switch_ports):
            text = f"the number of units of {part.identity.name} is not specified; set count, capacity, read or write"
            yield Problem(part.mark, "error", text, "missing-key", "storage.servers")
    for key in ("capacity_bytes", "read", "write"):
        alike = [part for part in plan.storage.servers if part.pieces is None and getattr(part, key)]
        for at, part in enumerate(alike):
            # A rate is that of all parts on the network, or of all behind other parts.
            rated = (prior for prior in alike[:at] if key == "capacity_bytes" or bool(prior.ports) is bool(part.ports))
            first = next(rated, None)
            if first:
                text = (
                    f"the numbers of {first.identity.name} and {part.identity.name} follow from the same need; "
                    "set `count` of one of them"
                )
                yield Problem(part.mark, "error", text, "storage-counts", "storage.servers")
                return


@rule
def links_of_fabrics(plan: Plan, source: Source) -> Iterator[Problem]:
    """Reject links to tiers that a single switch does not have, and patch panels without racks at known positions."""
    for fabric in plan.fabrics:
        path = f"fabrics.{fabric.name}.links"
        kinds = {kind.name for kind in fabric.declared.link_kinds}
        for kind in link_kinds():
            place = ("fabrics", fabric.name, "links", kind)
            if fabric.declared.one_switch and kind not in kinds and place in source.values:
                text = f"a single switch has no {kind} links; remove them"
                yield Problem(source.key_mark(place), "error", text, "tiers", f"{path}.{kind}")
        for kind, wish in fabric.links.items():
            if wish.panels and not plan.laid_out:
                text = "panels need racks on a floor plan; add `site: {layout: auto}`"
                yield Problem(wish.panels.mark, "error", text, "layout", f"{path}.{kind}.panels")
