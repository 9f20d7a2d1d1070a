"""The result of a build on a few lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.core.provenance import Figure
    from bomgen.plan.types import Plan
    from bomgen.results.result import Report

NAME_WIDTH = 10
"""What a line of the summary begins with, at least so wide."""


def summary(report: Report) -> Iterator[str]:
    """The result on a few lines below the name of the plan: what fits a screen."""
    from bomgen.core.language import language

    for each in report.each_cluster:
        if each.plan.cluster_name:
            yield f"  {each.plan.cluster_name}:"
        yield from _cluster_summary(each)
    words, totals = language("en"), report.quote.totals
    if totals.priced_lines == 0:
        yield f"  price      none of {totals.lines} lines has a price"
    else:
        least = "" if totals.complete else "at least "
        amount = words.money(totals.amount, totals.currency)
        yield f"  price      {least}{amount}, {totals.priced_lines} of {totals.lines} lines"
    if items := report.bill.open_items:
        yield f"  to choose  {'; '.join(' or '.join(part.name for part in item.parts) for item in items)}"


def _cluster_summary(report: Report) -> Iterator[str]:
    from bomgen.core.language import language
    from bomgen.results.numbers import dotted
    from bomgen.results.result import numbers_of

    words = language("en")
    found = {dotted(steps): figure for steps, figure in numbers_of(report).items()}
    cluster = report.plan.cluster

    def shown(path: str) -> str:
        return words.number(found[path].value)

    text = f"{shown('cluster.gpus')} x {cluster.gpu.identity.name}"
    if cluster.server and cluster.server.trays:
        text += f" in {shown('cluster.servers')} trays of {cluster.server.identity.name}"
    elif cluster.server:
        text += f" in {shown('cluster.servers')} x {cluster.server.identity.name}"
    if "workload.gpus_required" in found:
        text += f" ({shown('workload.gpus_required')} required)"
    yield f"  GPUs       {text}"
    yield from _workload_summary(found, report.plan)
    width = max((len(built.plan.name) for built in report.design.fabrics), default=0)
    width = max(width, NAME_WIDTH)
    for built in report.design.fabrics:
        if built.plan.switchless:
            shape = " x ".join(words.number(figure.value) for figure in built.fabric.dimensions.values())
            count = words.number(built.fabric.links[0].count.value)
            times = f"{words.number(built.fabric.planes.value)} x " if built.fabric.planes else ""
            circuits = built.fabric.circuits.get("switches")
            switches = f"{words.number(circuits.value)} circuit switches; " if circuits else ""
            yield f"  {built.plan.name:{width}} {times}{built.fabric.topology} of {shape}; {switches}{count} links"
            continue
        tiers = " + ".join(
            f"{words.number(tier.count.value)} {tier.name} ({tier.switch.identity.name})" for tier in built.fabric.tiers
        )
        links = " + ".join(words.number(link.count.value) for link in built.fabric.links)
        modules = found.get(f"fabrics.{built.plan.name}.transceivers.total")
        tail = f", {words.number(modules.value)} modules" if modules else ""
        yield f"  {built.plan.name:{width}} {tiers}; {links} links{tail}"
    if "site.power_w" in found:
        facility = report.design.facility
        watts, unknown = words.shown(found["site.power_w"]), facility.unpowered
        left_out = ", ".join(f"{words.number(count)} x {name}" for name, count in unknown.items())
        known = f"at least {watts}: the power of {left_out} is not known"
        yield f"  power      {known if unknown else f'up to {watts}'}"


def _workload_summary(found: dict[str, Figure], plan: Plan) -> Iterator[str]:
    if plan.training and "workload.days" in found:
        days, mfu = found["workload.days"], value_text(found["workload.mfu"])
        taken = f"{float(days.value):.2f} days" if days.value >= 1 else value_text(days)
        yield f"  {'tuning' if plan.training.tuning else 'training':10} {taken} at {mfu} MFU"
    if plan.compute and "workload.peak_flops" in found:
        reached, target = (value_text(found[f"workload.{key}"]) for key in ("peak_flops", "target_flops"))
        yield f"  peak       {reached} {plan.compute.sparsity.value} {plan.compute.precision.value}, {target} asked for"
    if plan.inference and "workload.replicas" in found:
        text = f"{found['workload.replicas'].value} x {plan.inference.model.identity.name}"
        if "workload.requests_per_minute" in found:
            text += f", {value_text(found['workload.requests_per_minute'])} a minute"
            low, high = (found.get(f"workload.requests_per_minute_range.{end}") for end in ("low", "high"))
            if low and high:
                text += f" by estimate (low {value_text(low)}, high {value_text(high)})"
        yield f"  serving    {text}"


def value_text(figure: Figure) -> str:
    """A figure's value with its unit, as a person writes it."""
    from bomgen.core.language import language

    return language("en").shown(figure)
