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
from bomgen.plan.attachment import protocols_of_servers
from bomgen.plan.commercial_terms import DEFAULT
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
def one_utilisation(plan: Plan, _: Source) -> Iterator[Problem]:
    """Allow at most one of mfu, achieved_tflops and tokens_per_second_per_gpu for the speed of a GPU."""
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


@rule
def own_steps_on_whole_replicas(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require own measured steps to be on whole replicas."""
    training = plan.training
    if training is None:
        return
    for number, measurement in enumerate(training.measured):
        size = measurement.tensor.value * measurement.pipeline.value * measurement.context.value
        if measurement.gpus.value % size:
            text = (
                f"{measurement.gpus.value} GPUs are not a whole number of replicas of {size} GPUs; "
                f"{max(1, measurement.gpus.value // size) * size} are"
            )
            yield _at(plan, measurement.gpus, text, "whole-replicas", f"workload.training.measured.{number}.gpus")


@rule
def one_size(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that the size of the cluster is given once: in GPUs, in servers, or in racks of a rack-scale system."""
    cluster = plan.cluster
    sizes = {"gpus": cluster.gpus, "servers": cluster.servers, "racks": cluster.racks}
    first, *rest = [name for name, figure in sizes.items() if figure] or [""]
    for name in rest:
        text = f"{first} and {name} both set the size; keep one"
        yield _at(plan, sizes[name], text, "one-of", f"cluster.{name}")
    for name, bound in (("power", cluster.power), ("budget", cluster.budget and cluster.budget.amount)):
        if first and bound:
            text = f"{name} sets the size to the largest that fits, and so does {first}; keep one"
            yield _at(plan, bound, text, "one-of", f"cluster.{name}")
    server = cluster.server
    if cluster.racks and server and not server.trays:
        text = f"a {server.identity.name} is sold individually, not by the rack; set `servers` or `gpus`"
        yield _at(plan, cluster.racks, text, "whole-racks", "cluster.racks")


@rule
def one_demand(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that a demand for computing power is given once, and the keys of a volume of work with one."""
    compute = plan.compute
    if compute is None:
        return
    demands = {key: getattr(compute, key) for key in ("target", "gpu_hours", "flops")}
    first, *rest = [key for key, demand in demands.items() if demand] or [""]
    if not first:
        text = "no demand is set; set one of `target`, `gpu_hours` and `flops`"
        yield Problem(compute.mark, "error", text, "missing-key", "workload.compute")
    for key in rest:
        yield _at(
            plan, demands[key], f"{first} and {key} both set the demand; keep one", "one-of", f"workload.compute.{key}"
        )
    days = compute.target_days
    if compute.target and days:
        text = "a peak has no duration; remove `target_days`, or set `gpu_hours` or `flops` instead of `target`"
        yield _at(plan, days, text, "one-of", "workload.compute.target_days")


@rule
def gpu_of_server(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that the server holds the GPU that the plan specifies."""
    server, gpu = plan.cluster.server, plan.cluster.gpu
    if server and server.gpu and not gpu.identity.inline and server.gpu != gpu.identity.id:
        text = (
            f"{server.identity.name} has {server.gpu}, but the plan sets {gpu.identity.id}; specify a server with it, "
            f"or `gpu: {server.gpu}`"
        )
        yield _at_key(source, text, "gpu-of-server", "cluster.server")


@rule
def configuration_fits(plan: Plan, source: Source) -> Iterator[Problem]:
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
def shares_up_to_one(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit utilisation, efficiency, goodput and the share of a GPU's memory to 100 %."""
    if plan.inference:
        yield from _at_most_one(plan, plan.inference.memory_share, "workload.inference.memory_share")
        if plan.inference.targets:
            yield from _at_most_one(plan, plan.inference.targets.percentile, "workload.inference.targets.percentile")
    if plan.compute:
        for key in ("mfu", "goodput"):
            yield from _at_most_one(plan, getattr(plan.compute, key), f"workload.compute.{key}")
    if plan.training:
        for key in ("mfu", "parallel_efficiency", "goodput"):
            yield from _at_most_one(plan, getattr(plan.training, key), f"workload.{plan.training.block}.{key}")


def _at_most_one(plan: Plan, share: Figure | None, path: str) -> Iterator[Problem]:
    if share and share.unit != "word" and share.value > 1:
        text = f"{path.rpartition('.')[2]} is {float(share.value):.0%}; at most 100%"
        yield _at(plan, share, text, "range", path)


@rule
def money_shares_up_to_one(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit tax, discounts and charges by a share of the hardware to 100 %."""
    for category, rate in plan.quote.tax.items():
        yield from _at_most_one(plan, rate, "quote.tax" if category == DEFAULT else f"quote.tax.{category}")
    for path, margin in _margins(plan):
        if margin.value >= 1:
            text = f"a margin of {float(margin.value):.0%} of the price has no price; set less than 100%"
            yield _at(plan, margin, text, "range", path)
    discounts = plan.quote.discounts
    for path, shares in (("", discounts.categories), ("parts.", discounts.parts), ("lines.", discounts.lines)):
        for name, share in shares.items():
            yield from _at_most_one(plan, share, f"quote.discount.{path}{name}")
    for at, charge in enumerate(plan.quote.charges):
        yield from _at_most_one(plan, charge.share, f"quote.charges.{at}.share")
    if plan.operation:
        yield from _at_most_one(plan, plan.operation.load, "operation.load")
        yield from _at_most_one(plan, plan.operation.use, "operation.use")


def _margins(plan: Plan) -> Iterator[tuple[str, Figure]]:
    if sell := plan.quote.sell:
        yield "quote.sell.margin", sell.margin
        yield from ((f"quote.sell.by.{category}", margin) for category, margin in sell.by.items())


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
def active_of_all(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit the active parameters of a model to its parameters."""
    for block, workload in (("training", plan.training), ("inference", plan.inference)):
        model = workload.model if workload else None
        if model and model.active_parameters.value > model.parameters.value:
            text = f"{model.active_parameters.value} active parameters of {model.parameters.value}; at most all"
            yield _at(plan, model.active_parameters, text, "range", f"workload.{block}.model.active_parameters")


@rule
def carbon_of_grids(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit the carbon intensity of grids to some kg of CO2 per kWh: a larger number is in grammes."""
    carbon = plan.site.carbon if plan.site else None
    if carbon and carbon.value > MOST_CARBON:
        text = f"{float(carbon.value):g} kg of CO2 per kWh exceed any grid; write '{float(carbon.value):g} g/kWh'"
        yield _at(plan, carbon, text, "range", "site.carbon")


@rule
def effectiveness_above_one(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that the power usage effectiveness is at least 1."""
    pue = plan.site.pue if plan.site else None
    if pue and pue.value < 1:
        yield _at(plan, pue, f"a PUE of {float(pue.value):g}; 1 or more", "range", "site.pue")


@rule
def height_of_racks(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit the units of a rack to the height of its part."""
    site = plan.site
    if site and site.rack and site.rack.rack_units and site.rack_units.value > site.rack.rack_units.value:
        high = site.rack.rack_units.value
        text = f"{site.rack_units.value} usable units in a {site.rack.identity.name} of {high}; write {high} or fewer"
        yield _at(plan, site.rack_units, text, "rack-units", "site.rack.units")


@rule
def racks_have_room(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that racks side by side, and rows behind each other, do not overlap."""
    rack = plan.site.rack if plan.site else None
    if plan.site is None or rack is None:
        return
    layout = plan.site.layout
    for key, pitch, millimetres, what in (
        ("rack_pitch", layout.rack_pitch_m, rack.width_mm, "wide"),
        ("row_pitch", layout.row_pitch_m, rack.depth_mm, "deep"),
    ):
        least = metres_of.plain(millimetres.value) if millimetres else 0
        if pitch.value < least:
            text = (
                f"{key} is {float(pitch.value):g} m, and a {rack.identity.name} is {float(least):g} m {what}; "
                f"write '{float(least):g} m' or more"
            )
            yield Problem(first_given(pitch) or layout.mark, "error", text, "layout", f"site.layout.{key}")


@rule
def context_of_model(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit requests to the model's context; a training sequence may exceed it, which extends the context."""
    training, inference = plan.training, plan.inference
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
def pools_of_reinforcement(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require two pools for an asynchronous schedule and for GPUs that only generate."""
    learning, path = plan.reinforcement, "workload.reinforcement"
    if learning is None or learning.generation is None or learning.pools == TWO_POOLS:
        return
    if learning.schedule.value == ASYNCHRONOUS:
        text = "`schedule: asynchronous` needs GPUs that only generate; add `pools: two`, or leave `schedule` out"
        yield _at_key(source, text, "pools", f"{path}.schedule")
    if learning.generation_gpus:
        text = "with one pool the same GPUs generate and train; add `pools: two`, or leave `gpus` out"
        yield _at_key(source, text, "pools", f"{path}.generation.gpus")


@rule
def longest_of_responses(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that the longest response is not shorter than the mean."""
    learning = plan.reinforcement
    if learning and learning.longest.value < learning.response_tokens.value:
        mean, longest = learning.response_tokens.value, learning.longest.value
        text = f"the longest response has {longest} tokens, and the mean {mean}; write {mean} or more"
        yield _at(plan, learning.longest, text, "range", "workload.reinforcement.longest_response")


@rule
def updates_of_responses(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit the updates of a step to its responses."""
    learning = plan.reinforcement
    if learning and learning.updates.value > (most := learning.prompts.value * learning.responses.value):
        text = f"{learning.updates.value} updates of {most} responses; write {most} or fewer"
        yield _at(plan, learning.updates, text, "range", "workload.reinforcement.updates")


@rule
def responses_of_a_group(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require several responses to a prompt for grpo, which compares their rewards."""
    learning = plan.reinforcement
    if learning and learning.method.value == GRPO and learning.responses.value == 1:
        text = "grpo compares the responses to a prompt, and one has nothing to compare with; write 2 or more"
        yield _at(plan, learning.responses, text, "range", "workload.reinforcement.responses")


@rule
def accepted_of_drafted(plan: Plan, _: Source) -> Iterator[Problem]:
    """Limit the accepted tokens to those that speculative decoding drafts."""
    inference = plan.inference
    if inference and inference.drafted and inference.accepted and inference.accepted.value > inference.drafted.value:
        text = f"{float(inference.accepted.value):g} tokens accepted of {inference.drafted.value} drafted; at most all"
        yield _at(plan, inference.accepted, text, "range", "workload.inference.speculative.accepted")


@rule
def requests_are_whole(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require a prompt along with an answer, and the length of an answer along with a rate of requests."""
    inference = plan.inference
    if inference is None:
        return
    output, context, prompt = inference.output_tokens, inference.context, inference.prompt_tokens
    if output and context and output.value >= context.value:
        text = (
            f"{output.value} output tokens leave no room for a prompt in {context.value} tokens of context; "
            f"at most {context.value - 1}"
        )
        yield _at(plan, output, text, "range", "workload.inference.output_tokens")
    elif output and context and prompt and prompt.value + output.value > context.value:
        together = float(prompt.value + output.value)
        text = f"prompt and output take {together:g} tokens, not {context.value}; use `context: {ceil(together)}`"
        yield _at(plan, prompt, text, "range", "workload.inference.prompt_tokens")
    if inference.requests_per_minute and output is None:
        text = "the number of GPUs depends on the output length; set `output_tokens`"
        path = "workload.inference.requests_per_minute"
        yield _at(plan, inference.requests_per_minute, text, "missing-key", path)


@rule
def batches_have_no_latency(plan: Plan, source: Source) -> Iterator[Problem]:
    """Refuse a load or targets beside the tokens per day of an offline batch, and a batch without output."""
    inference = plan.inference
    if inference is None or inference.tokens_per_day is None:
        return
    path = "workload.inference"
    for key in ("requests_per_minute", "concurrency", "peak", "targets"):
        if key in source.data["workload"]["inference"]:
            text = f"`tokens_per_day` is the load of a batch without latency; leave `{key}` out, or `tokens_per_day`"
            yield _at_key(source, text, "twice", f"{path}.{key}")
    if not inference.output_tokens or not inference.output_tokens.value:
        text = "the requests of a batch depend on the output length; set `output_tokens`"
        yield _at(plan, inference.tokens_per_day, text, "missing-key", f"{path}.tokens_per_day")


@rule
def shares_of_caches(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that some prompt tokens are in no cache."""
    inference = plan.inference
    tiers = [tier for tier in (inference.host_cache, inference.nvme_cache) if tier] if inference else []
    if inference is None or not tiers:
        return
    shares = [tier.share for tier in tiers] + ([inference.prefix_cache] if inference.prefix_cache else [])
    total = sum(Fraction(share.value) for share in shares)
    if total >= 1:
        text = f"{float(total):.4g} of the prompt tokens are in caches; less than all, since the last one is always new"
        yield _at(plan, tiers[-1].share, text, "range", "workload.inference.cache_tiers")


@rule
def shares_of_use_cases(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that the shares of use cases add up, and that nothing else gives the same lengths."""
    inference = plan.inference
    if inference is None or not inference.use_cases:
        return
    path = "workload.inference.use_cases"
    total = sum(Fraction(case.share.value) for case in inference.use_cases)
    if total != 1:
        text = f"the shares add up to {float(total):.4g}; they must add up to 100%"
        yield _at(plan, inference.use_cases[-1].share, text, "range", path)
    for key in ("prompt_tokens", "output_tokens"):
        if key in source.data["workload"]["inference"]:
            text = f"`{key}` is given here and by `use_cases`; leave one of them out"
            yield _at_key(source, text, "twice", f"workload.inference.{key}")


@rule
def measurements_have_results(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require a result of each own measurement of serving, and a time of targets."""
    inference = plan.inference
    if inference is None:
        return
    for measurement in inference.measured:
        if not (measurement.tpot or measurement.ttft or measurement.tokens_per_second_per_gpu):
            text = "nothing is measured here; add `tpot`, `ttft` or `tokens_per_second_per_gpu`"
            yield Problem(measurement.mark, "error", text, "missing-key", "workload.inference.measured")
    targets = inference.targets
    if targets and not (targets.ttft or targets.tpot):
        text = "a percentile of no time; add `ttft` or `tpot`"
        yield Problem(targets.mark, "error", text, "missing-key", "workload.inference.targets")


@rule
def targets_of_outputs(plan: Plan, _: Source) -> Iterator[Problem]:
    """Refuse a target for output tokens that are never generated."""
    inference = plan.inference
    tpot = inference.targets.tpot if inference and inference.targets else None
    if inference and tpot and inference.output_tokens and not inference.output_tokens.value:
        text = "requests without output have no time per output token; leave `tpot` out"
        yield _at(plan, tpot, text, "range", "workload.inference.targets.tpot")


@rule
def whole_tiers(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that fixed values of a tier belong to the topology and number of tiers of the plan."""
    for fabric in plan.fabrics:
        if fabric.tiers and fabric.tiers.value not in range(1, MAX_TIERS + 1):
            yield _at(plan, fabric.tiers, "tiers are auto, 1, 2 or 3", "range", f"fabrics.{fabric.name}.tiers")
        below_three = fabric.tiers is not None and fabric.tiers.value < MAX_TIERS
        core, spine = fabric.tier_plans.get("core"), fabric.tier_plans.get("spine")
        for name, figure in (
            ("core.count", core.count if core else None),
            ("spine.uplinks", spine.uplinks if spine else None),
        ):
            if figure and (below_three or fabric.declared.one_switch):
                text = f"{name} is for three tiers; set `tiers: 3`, or remove it"
                yield _at(plan, figure, text, "tiers", f"fabrics.{fabric.name}.{name}")


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
def fixed_leaf(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require one way to fix the size of a leaf: its servers, its downlinks, or the servers of a unit."""
    for fabric in plan.fabrics:
        leaf = fabric.tier_plans.get("leaf")
        if leaf and leaf.servers and leaf.downlinks:
            text = "leaf.servers and leaf.downlinks both set the downlink ports; keep one"
            yield _at(plan, leaf.downlinks, text, "one-of", f"fabrics.{fabric.name}.leaf.downlinks")
        if leaf and leaf.servers and fabric.scalable_unit and fabric.declared.has_rails:
            text = "leaf.servers and scalable_unit both set how many servers share a set of leaves; keep one"
            yield _at(plan, leaf.servers, text, "one-of", f"fabrics.{fabric.name}.leaf.servers")
        unit = fabric.scalable_unit
        if leaf and leaf.downlinks and unit and fabric.declared.has_rails and leaf.downlinks.value < unit.value:
            text = f"{leaf.downlinks.value} downlinks per leaf for {unit.value} servers per unit; set at least as many"
            yield _at(plan, leaf.downlinks, text, "ports", f"fabrics.{fabric.name}.leaf.downlinks")


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
def one_number_of_uplinks(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that leaves linked into another fabric have their uplinks from `uplink` alone."""
    for fabric in plan.fabrics:
        leaf = fabric.tier_plans.get("leaf")
        if fabric.uplink and leaf and leaf.uplinks:
            text = "leaf.uplinks and uplink.ports both set the uplinks of a leaf; keep uplink.ports"
            yield _at(plan, leaf.uplinks, text, "one-of", f"fabrics.{fabric.name}.leaf.uplinks")


@rule
def one_protocol(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require one protocol for the switches of a fabric, its NICs or the ports of the servers, and the fabric above."""
    for fabric in plan.fabrics:
        leaf = fabric.tier_plans["leaf"].switch if "leaf" in fabric.tier_plans else None
        if leaf is None or leaf.protocol is None:
            continue
        place = f"fabrics.{fabric.name}"
        own = () if fabric.nic else protocols_of_servers(plan.cluster, fabric.role)
        if own and leaf.protocol not in own:
            tier = (
                ("leaf", "switch") if source.keys.keys() & {("fabrics", fabric.name, "leaf", "switch")} else ("switch",)
            )
            fitting = f", for example {' or '.join(fabric.fitting_switches)}" if fabric.fitting_switches else ""
            text = (
                f"{leaf.identity.name} speaks {leaf.protocol}, the ports of {_ports_of(plan, fabric)} "
                f"{' or '.join(own)}; specify a switch that does{fitting}"
            )
            yield Problem(source.mark(("fabrics", fabric.name, *tier)), "error", text, "protocol", place)
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
                yield Problem(identity.mark or fabric.mark, "error", text, "protocol", place)
                break


def _ports_of(plan: Plan, fabric: FabricPlan) -> str:
    """Return the name of what has the servers' own ports on a fabric."""
    cluster = plan.cluster
    nic = {COMPUTE: cluster.server_nic, STORAGE: cluster.storage_nic, IN_BAND: cluster.storage_nic}.get(fabric.role)
    server = cluster.server.identity.name if cluster.server else "the servers"
    return f"{server} ({nic.identity.name})" if nic and fabric.role != OUT_OF_BAND else server


@rule
def real_date(plan: Plan, source: Source) -> Iterator[Problem]:
    """Require that the date of the quote exists."""
    if plan.quote.date:
        try:
            far = date.fromisoformat(plan.quote.date).year > LAST_YEAR
            wrong = "is too far away; use a date in this century" if far else None
        except ValueError:
            wrong = "is not a date; write YYYY-MM-DD"
        if wrong:
            mark = plan.quote.date_mark or source.mark(("quote",))
            yield Problem(mark, "error", f"{plan.quote.date} {wrong}", "date", "quote.date")


@rule
def real_rates(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require that exchange rates are above 0, and that their dates exist and are not after the quote."""
    for currency, exchange in plan.quote.exchange.items():
        path = f"quote.exchange.{currency}.date"
        if not exchange.rate:
            text = f"a rate of 0 for {currency}; more than 0"
            yield Problem(exchange.mark, "error", text, "range", f"quote.exchange.{currency}.rate")
        try:
            date.fromisoformat(exchange.date)
        except ValueError:
            text = f"{exchange.date} is not a date; write YYYY-MM-DD"
            yield Problem(exchange.mark, "error", text, "date", path)
            continue
        if plan.quote.date and exchange.date > plan.quote.date:
            text = f"the rate of {currency} is of {exchange.date}, the quote of {plan.quote.date}; use an earlier one"
            yield Problem(exchange.mark, "error", text, "date", path)


@rule
def names_of_alternatives(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require distinct names of alternatives."""
    seen: set[str] = set()
    for alternative in plan.quote.alternatives:
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
def link_kinds_in_use(plan: Plan, source: Source) -> Iterator[Problem]:
    """Reject links to tiers that a single switch does not have."""
    for fabric in plan.fabrics:
        if fabric.declared.one_switch:
            kinds = {kind.name for kind in fabric.declared.link_kinds}
            for kind in (link_kind for link_kind in link_kinds() if link_kind not in kinds):
                if ("fabrics", fabric.name, "links", kind) in source.values:
                    mark = source.key_mark(("fabrics", fabric.name, "links", kind))
                    text = f"a single switch has no {kind} links; remove them"
                    yield Problem(mark, "error", text, "tiers", f"fabrics.{fabric.name}.links.{kind}")


@rule
def panels_have_a_floor(plan: Plan, _: Source) -> Iterator[Problem]:
    """Require racks with known positions for patch panels."""
    if plan.site is not None and plan.site.layout.given:
        return
    for fabric in plan.fabrics:
        for kind, wish in fabric.links.items():
            if wish.panels:
                text = "panels need racks on a floor plan; add `site: {layout: auto}`"
                yield Problem(wish.panels.mark, "error", text, "layout", f"fabrics.{fabric.name}.links.{kind}.panels")
