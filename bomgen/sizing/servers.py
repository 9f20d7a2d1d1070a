"""GPUs and servers of a cluster: peak computing power, their network, and the number for a workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from math import ceil, lcm
from typing import NamedTuple

from bomgen.catalog.parts import Gpu, Server, network_bandwidth
from bomgen.core.diagnostics import Infeasible, error_at
from bomgen.core.messages import message
from bomgen.core.provenance import Figure, Mark, ceil_div, first_given, formula, product, quotient, require
from bomgen.core.units import BITS_A_BYTE, GIGA, HOURS_A_DAY, SECONDS_AN_HOUR, TERA
from bomgen.fabric.types import SERVER_LEAF
from bomgen.plan import fabric_demand
from bomgen.plan.fabric_demand import Attachment
from bomgen.plan.types import COMPUTE, Cluster, Compute, FabricPlan, Plan
from bomgen.sizing.training.parallelism import SERVER_GPUS

MAX_GPUS = 10**7
"""Plausible maximum of GPUs in a plan."""
MAX_ROUNDS = 8
"""Rounding up to a leaf may change the leaf; this settles in two rounds or exceeds the largest fabric."""


servers_for_gpus = ceil_div("servers_for_gpus", "servers", "gpus", "gpus_per_server")
"""Whole servers for the GPUs."""
host_memory_of_gpu = quotient("host_memory_of_gpu", "bytes", "host_memory", "gpus_per_server")
"""Host memory per GPU of a server [bytes]."""


@formula("servers")
def round_up_servers(servers: int, unit: int) -> int:
    """Servers rounded up to whole units."""
    return ceil(servers / unit) * unit


trays_of_racks = product("trays_of_racks", "servers", "racks", "trays")
"""Compute trays of whole racks."""
gpus_of_servers = product("gpus_of_servers", "GPUs", "servers", "gpus_per_server")
"""GPUs in all servers."""
pods_of_chips = ceil_div("pods_of_chips", "pods", "chips", "chips_of_pod")
"""Whole pods for the accelerators."""


def gpu_with_host(cluster: Cluster) -> Gpu:
    """Return the GPU of a cluster, with the share of its server's memory."""
    server = cluster.server
    if server is None or server.host_memory is None:
        return cluster.gpu
    return cluster.gpu._replace(host_memory=host_memory_of_gpu(server.host_memory, server.gpus))


def given_gpus(cluster: Cluster) -> int | None:
    """Return the GPUs of a plan, set as GPUs, servers or racks; None when it sets none of them."""
    server = cluster.server
    if cluster.gpus:
        return int(cluster.gpus.value)
    if cluster.servers and server:
        return int(cluster.servers.value * server.gpus.value)
    if cluster.racks and server and server.trays:
        return int(cluster.racks.value * server.trays.value * server.gpus.value)
    return None


def count_servers(
    plan: Plan, required: Figure | None, attached: Mapping[str, Attachment]
) -> tuple[Figure | None, Figure]:
    """Return servers (None: no server is known for the GPU) and GPUs: as given, else `required` GPUs rounded up.

    Raises PlanErrors when nothing gives a size, Infeasible for a size that is impossible.
    """
    cluster = plan.cluster
    server = cluster.server
    for size in (cluster.gpus, cluster.servers, cluster.racks):
        if size and size.value > MAX_GPUS:
            text = f"{size.value} exceed the supported maximum; at most {MAX_GPUS}"
            raise Infeasible(text, because=size, rule="range")
    _check_whole_spare_racks(cluster)
    if cluster.servers or cluster.racks:
        if server is None:
            name = cluster.gpu.identity.id
            text = f"no server is known for the GPU {name}; set `cluster.gpus`, or describe a server"
            raise error_at(cluster.mark, text, "unknown-server", "cluster.server")
        servers = cluster.servers or trays_of_racks(
            require(cluster.racks, "there are servers or racks"),
            require(server.trays, "plan.rules refuses other racks"),
        )
        _check_whole_racks(cluster, server)
        return servers, gpus_of_servers(servers, server.gpus)
    if cluster.gpus:
        if server is None:
            return None, cluster.gpus
        if cluster.gpus.value % server.gpus.value:
            if server.gpu_slots and server.gpus_included:
                raise _unequal_shares(cluster.gpus, server.gpu_slots)
            down, up = (cluster.gpus.value // server.gpus.value + step for step in (0, 1))
            fits = tuple(str(count * server.gpus.value) for count in (down, up) if count)
            units = message("compute-trays") if server.trays else message("named-servers", id=server.identity.name)
            each = str(server.gpus.value)
            text = message("whole-servers", units=units, gpus=str(cluster.gpus.value), each=each, fits=fits)
            raise Infeasible(text, because=cluster.gpus, rule="whole-servers", fixes=fits)
        return servers_for_gpus(cluster.gpus, server.gpus), cluster.gpus
    if required is None:
        mark = plan.training.mark if plan.training else cluster.mark
        text = "the cluster size is not specified; set `target_days`, `cluster.gpus` or `cluster.servers`"
        raise error_at(mark, text, "missing-key", "cluster")
    if required.value > MAX_GPUS:
        text = f"{required.value} GPUs would be needed, far more than any cluster has; check tokens and days"
        raise Infeasible(text, because=required)
    if server is None:
        return None, required
    servers = _round_up(plan, servers_for_gpus(required, server.gpus), attached)
    gpus = gpus_of_servers(servers, server.gpus)
    if gpus.value > MAX_GPUS:
        text = f"{gpus.value} GPUs after rounding up exceed the supported maximum; at most {MAX_GPUS}"
        raise Infeasible(text, because=cluster.round_up_to, rule="range")
    return servers, gpus


def allowed_counts(plan: Plan, least: Figure, replica: int, attached: Mapping[str, Attachment]) -> Iterator[int]:
    """Yield the possible numbers of GPUs of a cluster from `least` on, in whole replicas of `replica` GPUs.

    Where the plan sets a number they are whole servers or racks; otherwise they are rounded up as it specifies.
    """
    if given_gpus(plan.cluster) is not None:
        unit = lcm(replica, gpus_of_unit(plan.cluster))
        yield from range(ceil(least.value / unit) * unit, MAX_GPUS + 1, unit)
        return
    count = int(least.value)
    while count <= MAX_GPUS:
        try:
            count = int(count_servers(plan, replace(least, value=count), attached)[1].value)
        except Infeasible:
            return
        if count % replica == 0:
            yield count
            count += 1
        else:
            count = ceil(count / replica) * replica


def gpus_of_unit(cluster: Cluster) -> int:
    """Return the GPUs of which a given number of GPUs, servers or racks must be a multiple."""
    server = cluster.server
    if server is None:
        return 1
    return int(server.gpus.value * (server.trays.value if server.trays and not cluster.gpus else 1))


def unit_of_counts(cluster: Cluster) -> int:
    """Return the factor of the number that a plan sets: GPUs of a server, or servers of a rack."""
    server = cluster.server
    if server is None or cluster.racks:
        return 1
    if cluster.servers:
        return int(server.trays.value) if server.trays else 1
    return int(server.gpus.value)


def _unequal_shares(gpus: Figure, slots: Figure) -> Infeasible:
    """Return the error for a number of GPUs that chassis for cards do not hold in equal shares."""
    servers = ceil(gpus.value / slots.value)
    fits = " or ".join(str(servers * (gpus.value // servers + step)) for step in (0, 1))
    text = f"{gpus.value} GPUs do not fit in {servers} servers in equal shares; use {fits}, or set `server.gpus`"
    return Infeasible(text, because=gpus, rule="whole-servers")


def _check_whole_racks(cluster: Cluster, server: Server) -> None:
    """Raise Infeasible for trays that fill no rack: the plan may mean trays or racks."""
    servers, trays = cluster.servers, server.trays
    if servers is None or trays is None or servers.value % trays.value == 0:
        return
    whole = ceil(servers.value / trays.value)
    text = (
        f"`servers: {servers.value}` counts compute trays, of which a {server.identity.name} has {trays.value}; write "
        f"`racks: {servers.value}` for that many racks, or `servers: {whole * trays.value}` for the trays of "
        f"{_racks(whole)}"
    )
    raise Infeasible(text, because=servers, rule="whole-racks")


def _check_whole_spare_racks(cluster: Cluster) -> None:
    """Raise Infeasible for spare trays that fill no rack: a rack-scale system is bought by the rack."""
    spares, trays = cluster.spare_servers, cluster.server.trays if cluster.server else None
    if spares is None or trays is None or cluster.server is None or spares.value % trays.value == 0:
        return
    fits = sorted({ceil(spares.value / trays.value), spares.value})
    whole = " or ".join(f"`spare_servers: {racks * trays.value}` for {_racks(racks)}" for racks in fits)
    text = (
        f"`spare_servers: {spares.value}` counts compute trays; a {cluster.server.identity.name} has {trays.value} "
        f"and is only sold whole; write {whole}"
    )
    raise Infeasible(text, because=spares, rule="whole-racks")


def _racks(count: int) -> str:
    return "1 rack" if count == 1 else f"{count} racks"


def _round_up(plan: Plan, servers: Figure, attached: Mapping[str, Attachment]) -> Figure:
    cluster = plan.cluster
    unit = cluster.round_up_to
    if unit.unit != "word":
        servers = round_up_servers(servers, unit)
    elif unit.value in ("leaf", "scalable_unit"):
        servers = _round_up_to_leaf(plan, servers, attached)
    return whole_racks(cluster.server, servers) if cluster.server else servers


def whole_racks(server: Server, servers: Figure) -> Figure:
    """Return the servers, rounded up to whole racks of a rack-scale system."""
    return round_up_servers(servers, server.trays) if server.trays else servers


def _round_up_to_leaf(plan: Plan, servers: Figure, attached: Mapping[str, Attachment]) -> Figure:
    unit = plan.cluster.round_up_to
    switched = (fabric for fabric in plan.fabrics if fabric.role == COMPUTE and not fabric.switchless)
    fabric = next(switched, None)
    if fabric is None:
        text = f"round_up_to: {unit.value} needs a compute fabric with leaves to fill; add one"
        raise Infeasible(text, because=unit, rule="no-fabric")
    if unit.value == "scalable_unit" and fabric.scalable_unit:
        return round_up_servers(servers, fabric.scalable_unit)
    for _ in range(MAX_ROUNDS):
        filled = fabric_demand.leaf_servers(fabric, attached[fabric.name], servers)
        if servers.value % filled.value == 0:
            return servers
        servers = round_up_servers(servers, filled)
    text = f"rounding {servers.value} servers up to whole leaves does not settle; set `round_up_to: {{servers: n}}`"
    raise Infeasible(text, because=unit, rule="rounding")


# peak flops ---------------------------------------------------------------------------------------------------------
# Peak computing power: of a GPU at a precision, and the GPUs for a target.

SPARSE = "sparse"


class Target(NamedTuple):
    """A peak computing power or a volume of work, and the GPUs it takes."""

    target_flops: Figure | None
    peak_flops_per_gpu: Figure | None
    """Dense or sparse peak, as specified [FLOP/s]; None for GPU-hours."""
    gpus_required: Figure | None
    """None: a volume of work without a target duration."""
    gpu_hours: Figure | None = None
    """The volume of work; None for a peak."""


@formula("FLOP/s")
def peak_flops(peak_tflops: Fraction) -> Fraction:
    """Peak of a GPU in FLOP/s."""
    return peak_tflops * TERA


@formula("GPUs")
def gpus_for_target(target: int, peak: Fraction) -> int:
    """Whole GPUs whose combined peak reaches the target."""
    return ceil(Fraction(target) / peak)


@formula("GPU-hours")
def gpu_hours_of_flops(flops: Fraction, peak: Fraction, mfu: Fraction) -> Fraction:
    """GPU-hours of a number of operations at a share of the peak."""
    return Fraction(flops) / (peak * mfu * SECONDS_AN_HOUR)


@formula("GPUs")
def gpus_for_hours(gpu_hours: Fraction, target_days: Fraction, goodput: Fraction) -> int:
    """Whole GPUs that provide GPU-hours within some days."""
    return ceil(Fraction(gpu_hours) / (target_days * HOURS_A_DAY * goodput))


@formula("days")
def days_of_hours(gpu_hours: Fraction, gpus: int, goodput: Fraction) -> Fraction:
    """Days in which the GPUs of a cluster provide GPU-hours."""
    return Fraction(gpu_hours) / (gpus * HOURS_A_DAY * goodput)


peak_of_cluster = product("peak_of_cluster", "FLOP/s", "gpus", "peak")
"""Peak of all GPUs."""


def peak_of_gpu(gpu: Gpu, precision: Figure, path: str, fallback: Mark, sparse: bool = False) -> Figure:
    """Return the peak of a GPU at a precision [TFLOP/s], dense unless `sparse`.

    `path` is the block of the plan that needs it and `fallback` its place. Raises PlanErrors when the catalogue lacks
    the peak, naming the precisions that it has.
    """
    peaks, kind = (gpu.sparse, SPARSE) if sparse else (gpu.dense, "dense")
    if precision.value not in peaks:
        # A record may list fp64 on tensor cores (fp64_tensor) separately, which is not a precision of plans.
        names = ", ".join(sorted(name for name in peaks if "_" not in name))
        yours = f"give yours as `{precision.value}_{'sparse_' * sparse}tflops` of the GPU"
        right = f"`precision:` may be {names}, or {yours}" if names else "write `sparsity: dense`" if sparse else yours
        text = f"no {kind} {precision.value} peak is known for {gpu.identity.name}; {right}"
        mark = first_given(precision) or fallback
        raise error_at(mark, text, "unknown-figure", path)
    return peaks[str(precision.value)]


def size_target(compute: Compute, gpu: Gpu) -> Target:
    """Return the GPUs for a demand of computing power. Raises PlanErrors when the GPU's peak is unknown."""
    hours, peak, days = compute.gpu_hours, None, compute.target_days
    if hours is None:
        sparse = compute.sparsity.value == SPARSE
        peak = peak_flops(peak_of_gpu(gpu, compute.precision, "workload.compute", compute.mark, sparse))
        if compute.target:
            return Target(compute.target, peak, gpus_for_target(compute.target, peak))
        hours = gpu_hours_of_flops(require(compute.flops, "plan.rules asks for one"), peak, compute.mfu)
    return Target(None, peak, gpus_for_hours(hours, days, compute.goodput) if days else None, hours)


# network ------------------------------------------------------------------------------------------------------------
# Network bandwidth of a server and of a GPU, at the rates of their ports as cabled.
#
# A port is as fast as its link, which may be slower than the port. The ports of a purchased NIC share its PCIe slot.


def network_of_gpu(plan: Plan, attached: Mapping[str, Attachment], gpus_per_server: Figure) -> Figure | None:
    """Return a GPU's share of the compute fabric, else of its server's built-in NICs [Gb/s, one way].

    None when neither is known.
    """
    for fabric in plan.fabrics:
        if fabric.role == COMPUTE and fabric.name in attached:
            nics = attached[fabric.name]
            return network_bandwidth(nics.ports_per_server, port_rate(plan.cluster, fabric, nics), gpus_per_server)
    ports = plan.cluster.server.compute if plan.cluster.server else None
    return network_bandwidth(ports.count, ports.gbps, gpus_per_server) if ports and ports.gbps else None


class GpuLinks(NamedTuple):
    """The links of a GPU."""

    scale_up: Figure
    """Scale-up bandwidth to the GPUs of the domain, one way [bytes/s]."""
    network: Figure
    """Bandwidth of its NICs, one way [bytes/s]."""
    domain: Figure
    """GPUs that scale-up links connect."""


def links_of_gpu(plan: Plan, attached: Mapping[str, Attachment]) -> GpuLinks | None:
    """Return the links of a GPU of the plan's cluster; None where none are known.

    GPUs of a server whose own links are not known reach each other over its NICs.
    """
    gpu, server = plan.cluster.gpu, plan.cluster.server
    gpus = plan.cluster.gpus_per_server or SERVER_GPUS
    workload = plan.training or plan.inference
    assumed = workload.network if workload else None
    network = network_of_gpu(plan, attached, gpus) or assumed
    if network is None:
        return None
    outward = bytes_of_network(network)
    if gpu.scale_up:
        rack = domain_of_rack(gpus, server.trays) if server and server.trays else gpus
        return GpuLinks(one_way(gpu.scale_up), outward, gpu.pod_chips or rack)
    return GpuLinks(bytes_of_network(gpu.pcie_gbps or network), outward, gpus)


def port_rate(cluster: Cluster, fabric: FabricPlan, attached: Attachment) -> Figure:
    """Return the rate of a server's port on a fabric as cabled [Gb/s]."""
    return through_slot(cluster, attached, fabric_demand.rates(fabric, attached)[SERVER_LEAF.name])


def through_slot(cluster: Cluster, attached: Attachment, link_gbps: Figure) -> Figure:
    """Return the rate of a server's port [Gb/s]: that of its link, or its share of the PCIe slot of a purchased NIC."""
    slot = cluster.server.nic_slot_gbps if cluster.server else None
    if attached.bought is None or slot is None:
        return link_gbps
    carried = rate_through_slot(link_gbps, slot, attached.nics_per_server, attached.ports_per_server)
    return carried if carried.value < link_gbps.value else link_gbps


@formula("Gb/s")
def rate_through_slot(link_gbps: int, slot_gbps: int, nics: int, ports: int) -> Fraction:
    """Rate per port of a NIC whose PCIe slot is shared by its ports."""
    return min(Fraction(link_gbps), Fraction(slot_gbps * nics, ports))


@formula("bytes/s")
def bytes_of_ports(ports: int, port_gbps: Fraction) -> Fraction:
    """Bandwidth of several ports in bytes per second."""
    return Fraction(ports * port_gbps * GIGA) / BITS_A_BYTE


@formula("bytes/s")
def bytes_of_network(gbps: Fraction) -> Fraction:
    """Bandwidth of a link in bytes per second."""
    return Fraction(gbps * GIGA) / BITS_A_BYTE


@formula("bytes/s")
def one_way(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions."""
    return Fraction(scale_up) / 2


domain_of_rack = product("domain_of_rack", "GPUs", "gpus_per_tray", "trays")
"""GPUs of a rack whose scale-up links connect all of them."""
