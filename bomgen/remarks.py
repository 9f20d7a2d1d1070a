"""Warnings about what was designed, each at its place in the plan."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.bill import Bill
from bomgen.design import Design
from bomgen.figures import first_given
from bomgen.network import COMPUTE
from bomgen.plan import LINK_KINDS
from bomgen.problems import Problem
from bomgen.source import Path, Source

SINGLE_SWITCH = "single-switch"


def remarks(designed: Design) -> list[Problem]:
    """Warnings about what was designed: links, racks, memory, days."""
    plan, sizing = designed.plan, designed.sizing
    found = [
        Problem(
            problem.mark, problem.severity, problem.message, problem.rule, f"fabrics.{built.plan.name}.{problem.path}"
        )
        for built in designed.fabrics
        for problem in built.interconnect.problems
    ]
    found += _bought_cards(designed)
    place = plan.site.mark if plan.site else plan.cluster.mark
    found += [Problem(place, "warning", message, rule, "site") for message, rule in designed.facility.warnings]
    training = plan.training
    if training and sizing.fit and sizing.fit.warning:
        mark = training.parallelism.mark if training.parallelism else training.mark
        found.append(Problem(mark, "warning", sizing.fit.warning, "memory", "workload.memory.per_gpu.total"))
    target = training.target_days if training else None
    required = sizing.run.gpus_required if sizing.run else None
    if target and required and sizing.days and sizing.days.value > target.value:
        message = (
            f"{sizing.gpus.value} GPUs take {float(sizing.days.value):.2f} days, the target is "
            f"{float(target.value):g}; {required.value} GPUs would do"
        )
        found.append(Problem(first_given(target) or plan.mark, "warning", message, "target-missed", "workload.days"))
    return found


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


def without_effect(source: Source, designed: Design, billed: Bill) -> Iterator[Problem]:
    """What the plan says and the result has no use for."""
    plan = designed.plan
    said: list[tuple[Path, str]] = []
    for built in designed.fabrics:
        base: Path = ("fabrics", built.plan.name)
        tiers = f"the fabric has {len(built.fabric.tiers)} tier{'s' if len(built.fabric.tiers) > 1 else ''}"
        kinds = {link.kind for link in built.fabric.links}
        said += [((*base, "links", kind), tiers) for kind in LINK_KINDS if kind not in kinds]
        said += [((*base, tier), tiers) for tier in ("spine", "core") if built.fabric.tier(tier) is None]
        if len(built.fabric.tiers) == 1:
            said += [((*base, "leaf", key), tiers) for key in ("servers", "downlinks", "uplinks")]
            said += [((*base, key), tiers) for key in ("pod", "oversubscription")]
        if built.plan.topology.value == SINGLE_SWITCH:
            said.append(((*base, "tiers"), "a single switch is one tier"))
        if built.fabric.tier("core") is None:
            said.append(((*base, "oversubscription", "spine"), tiers))
        if plan.cluster.round_up_to.value != "scalable_unit":
            said.append(((*base, "scalable_unit"), "nothing is rounded up to it"))
    if plan.cluster.gpus or plan.cluster.servers:
        said.append((("cluster", "round_up_to"), "the size of the cluster is given"))
    categories = {line.category for line in billed.lines}
    said += [
        (("spares", category), "the bill has no such part") for category in plan.spares if category not in categories
    ]
    for path, reason in said:
        if path in source.keys:
            dotted = ".".join(str(step) for step in path)
            message = f"{dotted} has no effect, because {reason}; leave it out"
            yield Problem(source.keys[path], "warning", message, "no-effect", dotted)
