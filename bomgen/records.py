"""Catalogue records as parts and models: what a file or a mapping of a plan says, as data."""

from __future__ import annotations

import re

from bomgen import parts
from bomgen import shape as shapes
from bomgen.catalog import INLINE, Catalog, Record
from bomgen.figures import Figure, Mark
from bomgen.problems import PlanErrors, Problem
from bomgen.quantities import parse

MAX_GPUS = 1024
"""GPUs of a server beyond which a plan is a slip: the largest have 16, a tray of a rack-scale system has 4."""
MAX_PORTS = 10_000
"""Ports of a switch beyond which a plan is a slip: the largest chassis have about a thousand."""


def identity(record: Record, mark: Mark | None = None) -> parts.Identity:
    """What a record's part is called."""
    data = record.data
    described = record.id == INLINE
    part_number, ordering_number = record.value("part_number"), record.value("ordering_number")
    return parts.Identity(
        kind=record.kind,
        id=record.id,
        name=str(data.get("name", "")),
        vendor=data.get("vendor"),
        part_number=str(part_number) if part_number else None,
        ordering_number=str(ordering_number) if ordering_number else None,
        mark=mark or (record.source.mark(record.steps) if described else None),
        inline=described,
        generic=bool(data.get("generic", False)),
        availability=str(data.get("availability", parts.AVAILABLE)),
    )


def _named(called: parts.Identity, description: str) -> parts.Identity:
    """The identity of a part, with a name made from its figures when the plan gives none."""
    name = called.name or f"unnamed {description}"
    if not called.inline:
        return called if called.name else called._replace(name=name)
    return called._replace(name=name, id=slug(name) or called.kind)


def slug(name: str) -> str:
    """A name as an id: in lower case, every other character a hyphen; empty when nothing is left."""
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-")


def gpu(record: Record) -> parts.Gpu:
    """A record of kind gpu as data."""
    sparse = _by_precision(record, "_sparse_tflops")
    dense = {name: figure for name, figure in _by_precision(record, "_tflops").items() if not name.endswith("_sparse")}
    called = _named(identity(record), "GPU")
    return parts.Gpu(
        identity=called,
        dense=dense,
        sparse=sparse,
        memory_bytes=record.figure("memory", "bytes"),
        power_w=record.figure("power", "W"),
        memory_bandwidth=record.figure("memory_bandwidth", "bytes/s"),
        pod_chips=record.figure("chips", "count", "pod") if record.value("pod") else None,
        pod_dimensions=_pod_dimensions(record),
        pod_link_gbps=record.figure("link_gbps", "Gb/s", "pod"),
    )


def _pod_dimensions(record: Record) -> tuple[Figure, ...]:
    """Chips along each dimension of a pod, as figures; none where they are not known."""
    values = record.value("pod", "dimensions") or ()
    return tuple(Figure(int(value), "count", record.origin("dimensions", "pod")) for value in values)


def _by_precision(record: Record, suffix: str) -> dict[str, Figure]:
    found = {key.removesuffix(suffix): record.figure(key, "TFLOP/s") for key in record.data if key.endswith(suffix)}
    return {name: figure for name, figure in found.items() if figure is not None and not name.startswith("measured")}


REFERENCE_PRECISION = "bf16"
"""The precision whose dense peak published runs are compared by."""


def published_runs(catalog: Catalog) -> tuple[parts.PublishedRun, ...]:
    """Every published run of the catalogue whose GPU's peak is known."""
    found = []
    for record in catalog.all("run"):
        used = gpu(catalog.find("gpu", str(record.value("gpu"))))
        if peak := used.dense.get(REFERENCE_PRECISION):
            found.append(
                parts.PublishedRun(
                    identity=identity(record),
                    active_parameters=record.need("active_parameters", "parameters"),
                    tokens=record.need("tokens", "tokens"),
                    gpu=used.identity.name,
                    gpu_hours=record.need("gpu_hours", "GPU-hours"),
                    peak_tflops=peak,
                )
            )
    return tuple(found)


def nic(record: Record) -> parts.Nic:
    """A record of kind nic as data. Raises PlanErrors when ports or rate are unknown."""
    ports, rate = record.need("ports", "count"), record.need("port_gbps", "Gb/s")
    return parts.Nic(
        identity=_named(identity(record), f"NIC {ports.value} x {rate.value}G"),
        ports=ports,
        port_gbps=rate,
        cage=str(record.value("cage") or parts.ANY),
        ports_per_cage=record.or_one("ports_per_cage"),
        protocols=tuple(record.value("protocols") or ()),
        power_w=record.figure("power", "W"),
    )


def server(record: Record) -> parts.Server:
    """A record of kind server as data. Raises PlanErrors when its GPUs are unknown."""
    gpus = record.need("gpus", "count")
    if gpus.value > MAX_GPUS:
        mark = record.source.mark((*record.steps, "gpus"))
        raise PlanErrors([Problem(mark, "error", f"{gpus.value} GPUs in a server; at most {MAX_GPUS}", "range")])
    return parts.Server(
        identity=_named(identity(record), f"server with {gpus.value} GPUs"),
        gpu=record.value("gpu"),
        gpus=gpus,
        gpus_included=record.value("gpus_included") is not False,
        trays=record.figure("trays", "count"),
        nic=record.value("nic") if isinstance(record.value("nic"), str) else None,
        compute=_server_ports(record, "nics", "port_gbps", "cage"),
        storage=_server_ports(record, "storage_ports", "storage_port_gbps", "storage_cage"),
        bmc_ports=record.figure("bmc_ports", "count"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
    )


def appliance(record: Record) -> parts.Appliance:
    """A record of kind appliance as data."""
    return parts.Appliance(
        identity=_named(identity(record), "appliance"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
    )


def _server_ports(record: Record, count: str, rate: str, cage: str) -> parts.ServerPorts | None:
    ports, gbps = record.figure(count, "count"), record.figure(rate, "Gb/s")
    if ports is None or (gbps is None and record.value("nic") is None):
        return None
    per_cage = record.or_one("ports_per_cage" if count == "nics" else f"{count}_per_cage")
    return parts.ServerPorts(ports, gbps, str(record.value(cage) or parts.ANY), per_cage)


def switch(record: Record) -> parts.Switch:
    """A record of kind switch as data. Raises PlanErrors when its ports are unknown."""
    listed = record.value("port_groups")
    if listed:
        groups = tuple(_port_group(record, "port_groups", index) for index in range(len(listed)))
    else:
        groups = (_port_group(record),)
    for index, group in enumerate(groups):
        _check_ports(record, group, *(("port_groups", index) if listed else ()))
    description = " + ".join(f"{group.ports.value} x {group.port_gbps.value}G" for group in groups)
    return parts.Switch(
        identity=_named(identity(record), f"switch {description}"),
        protocol=record.value("protocol"),
        groups=groups,
        switches_per_unit=record.or_one("switches_per_unit"),
        rack_units=record.figure("rack_units", "U"),
        power_w=record.figure("power", "W"),
        typical_power_w=record.figure("power_typical", "W"),
    )


def _check_ports(record: Record, group: parts.PortGroup, *above: str | int) -> None:
    """Raise PlanErrors for ports that no switch has."""
    ports, per_cage = group.ports.value, group.ports_per_cage.value
    if ports > MAX_PORTS or per_cage > ports:
        mark = record.source.mark((*record.steps, *above, "ports"))
        message = (
            f"{ports} ports, {per_cage} in a cage; at most {MAX_PORTS} ports, and no more in a cage than there are"
        )
        raise PlanErrors([Problem(mark, "error", message, "range")])


def _port_group(record: Record, *above: str | int) -> parts.PortGroup:
    modes = record.value(*above, "modes") or {}
    return parts.PortGroup(
        ports=record.need("ports", "count", *above),
        port_gbps=record.need("port_gbps", "Gb/s", *above),
        ports_per_cage=record.or_one("ports_per_cage", *above),
        split=record.or_one("split", *above),
        cage=str(record.value(*above, "cage") or parts.ANY),
        modes={int(parse(rate, "Gb/s")): record.need(rate, "count", *above, "modes") for rate in modes},
    )


def module(record: Record) -> parts.Module:
    """A record of kind transceiver as data."""
    return parts.Module(
        identity=identity(record),
        rate_gbps=int(record.need("rate_gbps", "Gb/s").value),
        ports=record.or_one("ports"),
        cage=str(record.value("cage") or parts.ANY),
        optic=str(record.value("optic") or parts.ANY),
        fibre=str(record.value("fibre") or parts.ANY),
        connector=str(record.value("connector") or parts.ANY),
        reach_m=record.figure("reach", "m"),
        protocols=tuple(record.value("protocols") or ()),
        power_w=record.figure("power", "W"),
    )


def cable(record: Record) -> parts.Cable:
    """A record of kind cable as data."""
    rate = record.value("link_gbps")
    return parts.Cable(
        identity=identity(record),
        medium=str(record.value("kind")),
        link_gbps=None if rate is None else int(rate),
        links=record.or_one("links"),
        a=_cable_end(record, "a"),
        b=_cable_end(record, "b"),
        lengths_m=tuple(float(length) for length in record.value("lengths_m") or ()),
        fibre=record.value("fibre"),
        connector=record.value("connector"),
        protocols=tuple(record.value("protocols") or ()),
        ordering_numbers=dict(record.value("ordering_numbers") or {}),
    )


def _cable_end(record: Record, side: str) -> parts.CableEnd | None:
    end = record.value(side)
    if not end:
        return None
    return parts.CableEnd(str(end.get("cage", parts.ANY)), int(end.get("ports", 1)), int(end.get("ends", 1)))


SHAPE = (
    *("layers", "hidden", "heads", "kv_heads", "head_dim", "ffn", "vocab", "context"),
    *("ffn_dense", "ffn_expert", "experts", "topk", "shared", "dense_layers"),
    *("q_lora_rank", "kv_lora_rank", "rope_head_dim", "v_head_dim"),
    *("norms_per_layer", "positions", "window", "window_layers"),
)
_NOUGHT = ("ffn_dense", "shared", "dense_layers", "norms_per_layer", "window_layers")
"""Of these a model may have none."""
_UNIT = {"context": "tokens", "window": "tokens"}


def model(record: Record) -> parts.Model:
    """A record of kind model as data. What it does not count is worked out from its shape.

    Raises PlanErrors when the shape contradicts itself, or neither says how many parameters there are.
    """
    shape = {key: record.figure(key, _UNIT.get(key, "count"), zero=key in _NOUGHT) for key in SHAPE}
    described = parts.Model(
        identity=_named(identity(record), "model"),
        parameters=shapes.none(),
        active_parameters=shapes.none(),
        moe=record.value("type") == "moe" or record.value("experts") is not None,
        shape={key: figure for key, figure in shape.items() if figure is not None},
        tied=bool(record.value("tied")),
        mla=bool(record.value("mla")),
        mlp=str(record.value("mlp") or shapes.GATED),
        bias=str(record.value("bias") or shapes.NO_BIAS),
        norm=str(record.value("norm") or shapes.RMS),
        qk_norm=bool(record.value("qk_norm")),
        embedding_norm=bool(record.value("embedding_norm")),
        relative_positions=bool(record.value("relative_positions")),
        router_bias=bool(record.value("router_bias")),
    )
    if found := [_problem(record, key, message, "shape") for key, message in shapes.wrong(described)]:
        raise PlanErrors(found)
    given = record.figure("parameters", "parameters")
    if given and not described.moe and record.value("mlp") is None:
        described = described._replace(mlp=_block_of(described, given))
    parameters = given or shapes.parameters(described)
    if parameters is None:
        raise PlanErrors([_problem(record, "parameters", _uncounted(described), "unknown-figure")])
    active = record.figure("active_parameters", "parameters")
    if active is None and described.moe:
        active = shapes.active_parameters(described, parameters)
    if active is not None and active.value <= 0:
        message = f"{parameters.value} parameters are fewer than the experts of the shape have; write all parameters"
        raise PlanErrors([_problem(record, "parameters", message, "range")])
    return described._replace(parameters=parameters, active_parameters=active or parameters)


def _block_of(described: parts.Model, parameters: Figure) -> str:
    """The kind of feed-forward block where the record does not say: plain if gated ones have too many parameters."""
    found = shapes.matrices(described) or ()
    gated = sum(each.inputs.value * each.outputs.value * each.count.value for each in found)
    return shapes.PLAIN if gated > parameters.value else shapes.GATED


def _problem(record: Record, key: str, message: str, rule: str) -> Problem:
    return Problem(record.source.mark((*record.steps, key)), "error", message, rule)


def _uncounted(described: parts.Model) -> str:
    """What would make the parameters of a model known."""
    keys = [f"`{key}`" for key in shapes.missing(described)]
    if not described.shape:
        return "the model described here has no `parameters`; add them, or its shape"
    return f"the parameters are not known; add `parameters`, or to the shape {', '.join(keys)}"
