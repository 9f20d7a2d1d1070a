"""How many GPUs and servers, how long they take, and whether the model fits."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import NamedTuple

from bomgen import network
from bomgen.figures import Figure, Given, Mark, first_given, formula
from bomgen.network import Attachment
from bomgen.plan import Cluster, FabricPlan, Plan, Training
from bomgen.problems import Infeasible, PlanErrors, Problem
from bomgen.sizing import parallelism, training
from bomgen.sizing.parallelism import Fit
from bomgen.sizing.training import Run

MAX_GPUS = 10**7
"""GPUs beyond which a plan is a slip."""
MAX_ROUNDS = 8
"""Rounding up to a leaf may change the leaf; it settles in two rounds, or the demand grows past the largest fabric."""


class Sizing(NamedTuple):
    """The size of the cluster, and what the workload makes of it."""

    run: Run | None
    servers: Figure | None
    """Whole servers, or trays of a rack-scale system; None when no server is known for the GPU."""
    gpus: Figure
    days: Figure | None
    tokens_per_second: Figure | None
    fit: Fit | None


@formula("servers")
def servers_for_gpus(gpus: int, gpus_per_server: int) -> int:
    """Whole servers that hold the GPUs."""
    return ceil(gpus / gpus_per_server)


@formula("servers")
def rounded_up(servers: int, unit: int) -> int:
    """Servers rounded up to whole units."""
    return ceil(servers / unit) * unit


@formula("GPUs")
def gpus_of_servers(servers: int, gpus_per_server: int) -> int:
    """GPUs in all servers."""
    return servers * gpus_per_server


def size(plan: Plan, attached: Mapping[str, Attachment]) -> Sizing:
    """The size of the plan's cluster, whose servers hang on its fabrics as `attached` says.

    Raises PlanErrors when the plan says too little, Infeasible when no cluster meets it.
    """
    cluster = plan.cluster
    run = None
    if plan.training:
        run = training.size(plan.training, _peak(plan))
    servers, gpus = _counts(plan, run, attached)
    days = tokens = fit = None
    if plan.training and run:
        days = training.days(plan.training, run, gpus)
        tokens = training.tokens_per_second(plan.training, run, gpus)
        fit = _fit(plan.training, cluster, gpus)
    return Sizing(run, servers, gpus, days, tokens, fit)


def _fit(workload: Training, cluster: Cluster, gpus: Figure) -> Fit:
    """How the run is cut up. A length of sequence that nobody asked for refuses nothing: it is left out with a warning.

    Raises Infeasible when nothing fits that the plan asks for.
    """
    of_server = cluster.server.gpus if cluster.server else None
    try:
        return parallelism.fit(workload, cluster.gpu, gpus, of_server)
    except Infeasible as error:
        length = workload.sequence
        if length is None or isinstance(length.origin, Given):
            raise
        without = parallelism.fit(workload._replace(sequence=None), cluster.gpu, gpus, of_server)
        message = (
            f"activations are left out: at the model's whole context of {length.value} tokens {error.message}. "
            "Give the `sequence` that the run trains with"
        )
        return without._replace(warning=message)


def _peak(plan: Plan) -> Figure:
    """The dense peak at the training precision. Raises Infeasible when the catalogue does not know it."""
    if plan.training is None:
        raise ValueError("no training run")
    precision, gpu = plan.training.precision, plan.cluster.gpu
    if precision.value not in gpu.dense:
        known = ", ".join(sorted(gpu.dense)) or "none"
        message = f"no dense {precision.value} peak is known for {gpu.identity.name}; `precision:` may be {known}"
        raise PlanErrors([Problem(_place(precision, plan), "error", message, "unknown-figure", "workload.training")])
    return gpu.dense[str(precision.value)]


def _place(figure: Figure, plan: Plan) -> Mark:

    return first_given(figure) or plan.cluster.mark


def _counts(plan: Plan, run: Run | None, attached: Mapping[str, Attachment]) -> tuple[Figure | None, Figure]:
    """Servers and GPUs: as given, or for the target days and rounded up."""
    cluster = plan.cluster
    server = cluster.server
    for given in (cluster.gpus, cluster.servers):
        if given and given.value > MAX_GPUS:
            message = f"{given.value} are more than were ever built; at most {MAX_GPUS}"
            raise Infeasible(message, because=given, rule="range")
    if cluster.servers:
        if server is None:
            raise _unknown_server(cluster)
        servers = cluster.servers
        return servers, gpus_of_servers(servers, server.gpus)
    if cluster.gpus:
        if server is None:
            return None, cluster.gpus
        if cluster.gpus.value % server.gpus.value:
            down, up = (cluster.gpus.value // server.gpus.value + step for step in (0, 1))
            fits = " or ".join(str(count * server.gpus.value) for count in (down, up) if count)
            message = (
                f"{cluster.gpus.value} GPUs are no whole {server.identity.name} of {server.gpus.value}; give {fits}"
            )
            raise Infeasible(message, because=cluster.gpus, rule="whole-servers")
        return servers_for_gpus(cluster.gpus, server.gpus), cluster.gpus
    if run is None or run.gpus_required is None:
        mark = plan.training.mark if plan.training else cluster.mark
        message = "nothing says how large the cluster is; give `target_days`, `cluster.gpus` or `cluster.servers`"
        raise PlanErrors([Problem(mark, "error", message, "missing-key", "cluster")])
    if run.gpus_required.value > MAX_GPUS:
        message = f"{run.gpus_required.value} GPUs would be needed, more than were ever built; check tokens and days"
        raise Infeasible(message, because=run.gpus_required)
    if server is None:
        return None, run.gpus_required
    servers = _round_up(plan, servers_for_gpus(run.gpus_required, server.gpus), attached)
    return servers, gpus_of_servers(servers, server.gpus)


def _unknown_server(cluster: Cluster) -> PlanErrors:
    message = f"no server is known for the GPU {cluster.gpu.identity.id}; give `cluster.gpus`, or describe a server"
    return PlanErrors([Problem(cluster.mark, "error", message, "unknown-server", "cluster.server")])


def _round_up(plan: Plan, servers: Figure, attached: Mapping[str, Attachment]) -> Figure:
    """Servers rounded up to what the plan asks for, and to whole racks of a rack-scale system."""
    cluster = plan.cluster
    unit = cluster.round_up_to
    if unit.unit != "word":
        servers = rounded_up(servers, unit)
    elif unit.value in ("leaf", "scalable_unit"):
        servers = _round_up_to_leaf(plan, servers, attached)
    if cluster.server and cluster.server.trays:
        servers = rounded_up(servers, cluster.server.trays)
    return servers


def _round_up_to_leaf(plan: Plan, servers: Figure, attached: Mapping[str, Attachment]) -> Figure:
    unit = plan.cluster.round_up_to
    fabric = _first_compute(plan)
    if fabric is None:
        message = f"round_up_to: {unit.value} needs a compute fabric whose leaves are to be filled; add one"
        raise Infeasible(message, because=unit, rule="no-fabric")
    if unit.value == "scalable_unit" and fabric.scalable_unit:
        return rounded_up(servers, fabric.scalable_unit)
    for _ in range(MAX_ROUNDS):
        filled = network.leaf_servers(fabric, attached[fabric.name], servers)
        if servers.value % filled.value == 0:
            return servers
        servers = rounded_up(servers, filled)
    message = f"rounding {servers.value} servers up to whole leaves does not settle; give `round_up_to: {{servers: n}}`"
    raise Infeasible(message, because=unit, rule="rounding")


def _first_compute(plan: Plan) -> FabricPlan | None:
    return next((fabric for fabric in plan.fabrics if fabric.role == network.COMPUTE), None)
