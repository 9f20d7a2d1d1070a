"""Every number of the result at its path in bom.json."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from bomgen.catalog.identity import key_of
from bomgen.core.document import Path, row_at
from bomgen.core.provenance import Figure, formula, product, quotient, sum_of
from bomgen.core.units import MINUTES_A_DAY
from bomgen.design.assembly import BuiltFabric, Design
from bomgen.fabric.types import Fabric
from bomgen.plan.types import COMPUTE, Inference, StorageServers
from bomgen.pricing.bill_line import cable_id
from bomgen.sizing.serving.gpu_memory import adapter_memory
from bomgen.sizing.storage import Stored

if TYPE_CHECKING:
    from bomgen.sizing.prediction.predict import Predicted
    from bomgen.sizing.reinforcement import ReinforcedStep
    from bomgen.sizing.serving.service import Latency, Serving
    from bomgen.sizing.training.run import RunComparisons

NARROW, WIDE = 50, 90
"""Coverage of the prediction intervals in percent."""


def numbers(design: Design) -> dict[Path, Figure]:
    """Return every number of a design by its path in bom.json."""
    found: dict[Path, Figure | None] = {}
    sizing = design.sizing
    if sizing.target:
        found |= figures_of(sizing.target, "workload")
        found |= {("workload", "peak_flops"): sizing.peak_flops, ("workload", "days"): sizing.days}
    if run := sizing.run:
        found |= {
            ("workload", "flops"): run.flops,
            ("workload", "hardware_flops"): run.hardware_flops,
            ("workload", "mfu"): run.mfu,
            ("workload", "hfu"): run.hfu,
            ("workload", "peak_flops_per_gpu"): run.peak_flops_per_gpu,
            ("workload", "achieved_flops_per_gpu"): run.achieved_flops_per_gpu,
            ("workload", "tokens_per_second_per_gpu"): run.tokens_per_second_per_gpu,
            ("workload", "tokens_per_second"): sizing.tokens_per_second,
            ("workload", "gpus_required"): run.gpus_required,
            ("workload", "days"): sizing.days,
            ("workload", "parameters"): run.parameters,
            ("workload", "active_parameters"): run.active_parameters,
            ("workload", "trainable_parameters"): sizing.trainable_parameters,
        }
        found |= figures_of(run, "workload")
    if sizing.predicted and design.plan.training:
        found |= _prediction(sizing.predicted, design.plan.training.predicted is not None)
    if step := sizing.reinforced:
        found |= _reinforcement(step)
        if sizing.days_range:
            found["workload", "days_low"], found["workload", "days_high"] = sizing.days_range
    if sizing.published:
        found |= _published_runs(sizing.published())
    if fit := sizing.fit:
        found |= figures_of(fit.replica, "workload", "memory")
        found |= figures_of(fit.per_gpu, "workload", "memory", "per_gpu")
        found |= _reserve(fit.per_gpu.reserve)
        found |= {
            ("workload", "memory", "gpu"): fit.gpu_memory,
            ("workload", "memory", "host"): fit.host_memory,
            **figures_of(fit.split, "workload", "parallelism"),
        }
    if lost := sizing.lost:
        found |= {
            ("workload", "lost_time", "interruptions"): lost.interruptions,
            ("workload", "lost_time", "mean_time_between_interruptions_days"): lost.mean_time_days,
            ("workload", "lost_time", "checkpoint_bytes"): lost.checkpoint.contents.all,
            ("workload", "lost_time", "checkpoint_write_seconds"): lost.checkpoint.write_seconds,
            ("workload", "lost_time", "checkpoint_interval_days"): lost.checkpoint.interval_days,
            ("workload", "lost_time", "checkpoint_bytes_without_weights"): lost.checkpoint.contents.without_copy,
            ("workload", "lost_time", "share_lost"): lost.lost,
            ("workload", "lost_time", "goodput"): lost.goodput,
            **_range(("workload", "lost_time", "goodput_range"), lost.goodput_range),
        }
    if sizing.serving and design.plan.inference:
        found |= _serving_numbers(design.plan.inference, sizing.serving)
    found |= {
        **figures_of(sizing, "cluster"),
        ("cluster", "spare_servers"): design.plan.cluster.spare_servers,
        ("cluster", "nics"): design.nics,
        ("cluster", "power_w"): design.power_w,
    }
    for built in design.fabrics:
        found |= _fabric_numbers(built)
        if built.plan.role == COMPUTE:
            found |= _modules_per_gpu(built, sizing.gpus)
    if stored := sizing.stored:
        found |= _storage_numbers(stored, design.plan.storage.servers)
    for part in (design.facility, design.facility.load, design.facility.supply):
        found |= figures_of(part, "site")
    return {path: figure for path, figure in found.items() if figure is not None}


def _prediction(predicted: Predicted, sized_by_it: bool) -> dict[Path, Figure | None]:
    base, step = ("workload", "prediction"), predicted.step
    slow, fast = predicted.ends[WIDE]
    ends: dict[Path, tuple[Figure | None, Figure | None]] = {
        ("mfu",): (slow.mfu, fast.mfu),
        ("days",): (fast.days, slow.days),
        ("gpus_required",): (fast.gpus_required, slow.gpus_required),
    }
    found: dict[Path, Figure | None] = {
        (*base, "step_seconds"): step.step,
        (*base, "mfu"): predicted.point.mfu,
        (*base, "days"): predicted.point.days,
        (*base, "gpus_required"): predicted.point.gpus_required,
        (*base, "step_seconds_low"): step.steps[WIDE].low,
        (*base, "step_seconds_high"): step.steps[WIDE].high,
        (*base, "step_seconds_low_50"): step.steps[NARROW].low,
        (*base, "step_seconds_high_50"): step.steps[NARROW].high,
        **figures_of(step.evidence, *base),
    }
    for (name,), (low, high) in ends.items():
        under = ("workload",) if sized_by_it else base
        found[*under, f"{name}_low"], found[*under, f"{name}_high"] = low, high
    return found | {(*base, "terms", name): seconds for name, seconds in step.terms.items()}


def _reserve(parts: Mapping[str, Figure]) -> dict[Path, Figure | None]:
    """Return the parts of the memory of a GPU that are kept beside its contents."""
    return {("workload", "memory", "per_gpu", f"reserve_{name}"): part for name, part in parts.items()}


def _reinforcement(reinforced: ReinforcedStep) -> dict[Path, Figure | None]:
    base, engine = ("workload", "reinforcement"), reinforced.engine
    found: dict[Path, Figure | None] = {
        (*base, "step_seconds"): reinforced.step.seconds,
        (*base, "step_seconds_range", "low"): reinforced.step.low,
        (*base, "step_seconds_range", "high"): reinforced.step.high,
        (*base, "steps_per_day"): reinforced.steps_per_day,
        (*base, "training_gpus"): reinforced.training_gpus,
        (*base, "generation_gpus"): reinforced.generation_gpus,
        (*base, "host_bytes_per_gpu"): reinforced.host,
    }
    if engine:
        found[*base, "replicas"] = engine.replicas
        found[*base, "gpus_per_replica"] = engine.replica.gpus
        found[*base, "responses_per_replica"] = engine.responses
    for name, part in reinforced.parts.items():
        found[*base, "parts", name] = part.seconds
        found[*base, "parts_low", name], found[*base, "parts_high", name] = part.low, part.high
    return found


def figures_of(record: Any, *at: str) -> dict[Path, Figure | None]:
    """Return the figures of a record at the bom.json paths of its fields, for fields with a row in the registry."""
    found: dict[Path, Figure | None] = {}
    for name, field in record._asdict().items():
        if row_at((*at, name)) and isinstance(field, Mapping):
            found |= {(*at, name, key): figure for key, figure in field.items()}
        elif row_at((*at, name)):
            found[*at, name] = field
    return found


def _published_runs(compared: RunComparisons) -> dict[Path, Figure | None]:
    found: dict[Path, Figure | None] = {("workload", "effective_mfu"): compared.effective_mfu}
    for run in compared.runs:
        base = ("workload", "published_runs", run.run.identity.id)
        found[(*base, "gpu_hours")] = run.run.gpu_hours
        found[(*base, "mfu")] = run.mfu
        found[(*base, "days")] = run.days
    return found


def _storage_numbers(stored: Stored, named: Sequence[StorageServers]) -> dict[Path, Figure | None]:
    found: dict[Path, Figure | None] = {}
    if checkpoint := stored.checkpoint:
        found |= {
            ("storage", "checkpoint_bytes"): checkpoint.contents.all,
            ("storage", "checkpoint_write_seconds"): checkpoint.write_seconds,
            ("storage", "checkpoint_interval_days"): checkpoint.interval_days,
        }
    found |= {
        ("storage", "checkpoints_kept"): stored.kept,
        ("storage", "checkpoint_capacity_bytes"): stored.checkpoint_capacity_bytes,
        ("storage", "dataset_bytes"): stored.dataset_bytes,
        ("storage", "capacity_bytes"): stored.capacity_bytes,
        ("storage", "read_bytes_per_second"): stored.bandwidth.read,
        ("storage", "write_bytes_per_second"): stored.bandwidth.write,
        ("storage", "read_per_server"): stored.bandwidth.read_per_server,
        ("storage", "write_per_server"): stored.bandwidth.write_per_server,
        ("storage", "servers"): stored.servers,
    }
    found |= {
        ("storage", "rated_read_per_storage_server"): _only(part.read for part in named),
        ("storage", "delivered_read_bytes_per_second"): stored.delivered_read,
        ("storage", "rated_write_per_storage_server"): _only(part.write for part in named),
        ("storage", "delivered_write_bytes_per_second"): stored.delivered_write,
        ("storage", "sold_capacity_bytes"): stored.sold_capacity_bytes,
    }
    for part in stored.units if len(stored.units) > 1 else ():
        base: Path = ("storage", "parts", part.of.identity.id)
        found |= {
            (*base, "servers"): part.number,
            (*base, "capacity_bytes"): part.capacity_bytes,
            (*base, "read_bytes_per_second"): part.read,
            (*base, "write_bytes_per_second"): part.write,
        }
    return found


def _only(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the one known figure; None if there are several or none."""
    known = [figure for figure in figures if figure]
    return known[0] if len(known) == 1 else None


def _tokens_a_day(inference: Inference, serving: Serving) -> Figure | None:
    """Return the output tokens per day of an offline batch; None for other loads."""
    if inference.tokens_per_day is None or inference.output_tokens is None or serving.requests_per_minute is None:
        return None
    return tokens_a_day(serving.requests_per_minute, inference.output_tokens)


@formula("tokens")
def tokens_a_day(served: float, output_tokens: float) -> float:
    """Output tokens per day of the requests that a cluster can serve."""
    return float(served * output_tokens * MINUTES_A_DAY)


requests_held = product("requests_held", "requests", "held", "replicas")
"""Requests in flight that all replicas hold in memory."""


def _serving_numbers(inference: Inference, serving: Serving) -> dict[Path, Figure | None]:
    need, found, latency = serving.need, serving.need.replica, serving.latency
    evidence = need.speed.evidence if need.speed else (None, None)
    base: Path = ("workload",)
    memory: Path = (*base, "memory")
    return {
        (*base, "parameters"): inference.model.parameters,
        (*base, "active_parameters"): inference.model.active_parameters,
        (*base, "context"): inference.context,
        (*base, "output_tokens"): inference.output_tokens,
        (*base, "kv_bytes_per_token"): serving.cache.token if serving.cache else None,
        (*base, "kv_bytes_per_request"): serving.request,
        (*base, "gpus_per_replica"): found.gpus,
        (*base, "concurrency_per_replica"): found.held,
        (*base, "adapter_bytes"): adapter_memory(inference, found.tensor, found.stages),
        (*base, "replicas_required"): need.replicas,
        (*base, "replicas_for_prompts"): need.prefill.replicas if need.prefill and not need.prefill.apart else None,
        (*base, "gpus_for_prompts"): need.prefill.gpus_to_buy if need.prefill and need.prefill.apart else None,
        (*base, "gpus_required"): need.gpus_required,
        **_range((*base, "gpus_required_range"), need.gpus_range),
        (*base, "replicas_to_buy"): need.replicas_to_buy,
        (*base, "gpus_to_buy"): need.gpus_to_buy,
        (*base, "margin"): need.margin,
        (*base, "replicas"): serving.replicas,
        (*base, "concurrency"): inference.concurrency,
        (*base, "concurrency_held"): requests_held(found.held, serving.replicas) if found.held else None,
        (*base, "peak_flops_per_gpu"): need.speed.machine.peak if need.speed else None,
        (*base, "cache_loading_seconds"): need.speed.loading if need.speed else None,
        **dict(zip(((*base, "measured_rows"), (*base, "measured_models")), evidence, strict=True)),
        (*base, "requests_at_a_time"): serving.in_flight,
        **(
            {(*base, "serving_terms", name): term for name, term in serving.speed.terms.items()}
            if serving.speed
            else {}
        ),
        (*base, "load"): serving.load,
        (*base, "prefill_load"): latency.busy if latency else None,
        (*base, "latency", "prefill_seconds"): latency.prompt if latency else None,
        (*base, "latency", "ttft_seconds"): latency.ttft if latency else None,
        **_range((*base, "latency", "ttft_seconds_range"), latency.ttft_range if latency else None),
        (*base, "latency", "ttft_p95_seconds"): latency.ttft_of_most if latency else None,
        **_range((*base, "latency", "ttft_p95_seconds_range"), latency.ttft_of_most_range if latency else None),
        **_output_times(inference, latency),
        (*base, "tokens_per_second_per_gpu"): serving.of_gpu,
        **_range((*base, "tokens_per_second_per_gpu_range"), serving.of_gpu_range),
        (*base, "tokens_per_second"): serving.tokens_per_second,
        (*base, "requests_per_minute"): serving.requests_per_minute,
        (*base, "tokens_per_day"): _tokens_a_day(inference, serving),
        (*base, "kv_transfer"): serving.kv_transfer,
        **_range((*base, "requests_per_minute_range"), serving.requests_range),
        **figures_of(serving.model, *memory),
        **figures_of(serving.per_gpu, *memory, "per_gpu"),
        **_reserve(found.reserve),
        (*memory, "per_gpu", "room"): found.room,
        (*memory, "gpu"): serving.gpu_memory,
        (*base, "parallelism", "tensor"): found.degrees[0],
        (*base, "parallelism", "expert"): found.tensor if found.by_requests else None,
        (*base, "parallelism", "pipeline"): found.pipeline,
        (*base, "parallelism", "data"): serving.replicas,
    }


def _output_times(inference: Inference, latency: Latency | None) -> dict[Path, Figure | None]:
    """Return the time per output token with its range; nothing for requests without output."""
    if latency is None or inference.output_tokens is None or not inference.output_tokens.value:
        return {}
    base: Path = ("workload", "latency")
    return {
        (*base, "decode_seconds_per_token"): latency.tpot,
        **_range((*base, "decode_seconds_per_token_range"), latency.tpot_range),
    }


def _range(path: Path, span: tuple[Figure | None, Figure | None] | None) -> dict[Path, Figure | None]:
    return {(*path, "low"): span[0], (*path, "high"): span[1]} if span else {}


sum_of_pieces = sum_of("sum_of_pieces", "pieces", "pieces", "more_pieces")
"""Pieces from two sources."""
per_gpu = quotient("per_gpu", "pieces", "pieces", "gpus")
"""Pieces per GPU."""


def _fabric_numbers(built: BuiltFabric) -> dict[Path, Figure | None]:
    base: Path = ("fabrics", built.plan.name)
    fabric = built.fabric
    found: dict[Path, Figure | None] = {
        (*base, "tiers"): fabric.tier_count,
        (*base, "planes"): fabric.planes if built.plan.switchless and fabric.planes else built.plan.planes,
        (*base, "endpoints"): fabric.endpoints,
        (*base, "link_gbps"): fabric.links[0].rate_gbps,
        (*base, "pods"): fabric.pods,
    }
    for tier in fabric.tiers:
        found[(*base, "switches", tier.name)] = tier.count
        found[(*base, "ports", tier.name, "down")] = tier.down
        found[(*base, "ports", tier.name, "up")] = tier.up
        found[(*base, "ports", tier.name, "radix")] = tier.radix
        found[(*base, "oversubscription", tier.name)] = tier.oversubscription
    for fitted in built.chassis:
        found |= {(*base, "chassis", fitted.tier, use.kind): use.each for use in fitted.uses}
        found[(*base, "chassis", fitted.tier, "ports_per_card_down")] = fitted.card_down
        found[(*base, "chassis", fitted.tier, "ports_per_card_up")] = fitted.card_up
        found[(*base, "chassis", fitted.tier, "free_slots")] = fitted.free_slots
    found[(*base, "switches", "total")] = fabric.switches
    for link in fabric.links:
        found[(*base, "links", link.kind)] = link.count
    found[(*base, "bisection_gbps")] = fabric.bisection_gbps
    found |= _shape_numbers(base, fabric)
    for hosts in built.hosts:
        if hosts.customers:
            found[(*base, "uplinks")] = hosts.ports
            continue
        found[(*base, "hosts", key_of(hosts.name), "count")] = hosts.pieces
        found[(*base, "hosts", key_of(hosts.name), "ports")] = hosts.ports
    modules: dict[str, Figure] = {}
    for use in built.interconnect.modules:
        for key in (use.device, "total"):
            modules[key] = sum_of_pieces(modules[key], use.quantity) if key in modules else use.quantity
    for device, quantity in sorted(modules.items(), key=lambda item: item[0] == "total"):
        found[(*base, "transceivers", device)] = quantity
    for adapter in built.interconnect.adapters:
        at = (*base, "adapters", adapter.device)
        found[at] = sum_of_pieces(before, adapter.quantity) if (before := found.get(at)) else adapter.quantity
    cables: Figure | None = None
    for cable in built.interconnect.cables:
        cables = sum_of_pieces(cables, cable.quantity) if cables else cable.quantity
        at = (*base, "cables", cable.kind, cable_id(cable.cable, cable.length_m))
        found[at] = sum_of_pieces(before, cable.quantity) if (before := found.get(at)) else cable.quantity
    found[(*base, "cables_total")] = cables
    for panels in built.interconnect.panels:
        found[(*base, "panels", panels.panel.identity.id)] = panels.quantity
    if built.per_gpu:
        found |= figures_of(built.per_gpu, *base, "per_gpu")
    return found


def _modules_per_gpu(built: BuiltFabric, gpus: Figure) -> dict[Path, Figure | None]:
    """Return modules per GPU by rate, as vendors quote them: a twin-port 400G module counts as 800G."""
    found: dict[int, Figure] = {}
    for use in built.interconnect.modules:
        rate = use.module.rate_gbps.value
        found[rate] = sum_of_pieces(found[rate], use.quantity) if rate in found else use.quantity
    base: Path = ("fabrics", built.plan.name, "modules_per_gpu")
    return {(*base, f"{rate}G"): per_gpu(pieces, gpus) for rate, pieces in found.items()}


def _shape_numbers(base: Path, fabric: Fabric) -> dict[Path, Figure | None]:
    found: dict[Path, Figure | None] = {
        (*base, "rails_per_leaf"): None if fabric.homing else fabric.rails_per_leaf,
        (*base, "hops"): fabric.hops,
        (*base, "growth"): fabric.growth,
        (*base, "largest"): fabric.largest,
    }
    found |= {(*base, "free_ports", tier): ports for tier, ports in fabric.free_ports.items()}
    found |= {(*base, "dimensions", name): figure for name, figure in fabric.dimensions.items()}
    found |= {(*base, "circuits", name): figure for name, figure in fabric.circuits.items()}
    if fabric.plane:
        found[(*base, "plane", "endpoints")] = fabric.plane.endpoints
        found[(*base, "plane", "bisection_gbps")] = fabric.plane.bisection_gbps
        found |= {(*base, "plane", "links", link.kind): link.count for link in fabric.plane.links}
    return found


def dotted(path: Path) -> str:
    """Return a path with dots."""
    return ".".join(path)


class Paths:
    """Names of figures: paths in bom.json; for intermediate steps, a path, `#` and the step's name."""

    def __init__(self, found: Mapping[Path, Figure]) -> None:
        self.figures: dict[str, Figure] = {}
        self.of: dict[int, str] = {}
        for steps, figure in found.items():
            self.figures[dotted(steps)] = figure
            self.of.setdefault(id(figure), dotted(steps))
        for path, figure in list(self.figures.items()):
            self._name_steps(path, figure)

    def _name_steps(self, path: str, figure: Figure) -> None:
        """Name the derived steps below a figure that have no path of their own."""
        place = path.partition("#")[0]
        waiting = [figure]
        while waiting:
            for name, step in waiting.pop().inputs:
                if id(step) in self.of or not step.inputs:
                    continue
                wanted, number = f"{place}#{name}", 2
                while wanted in self.figures:
                    wanted, number = f"{place}#{name}-{number}", number + 1
                self.figures[wanted], self.of[id(step)] = step, wanted
                waiting.append(step)
