"""Every number of the result at its path in bom.json."""

from __future__ import annotations

from collections.abc import Mapping

from bomgen.bill import cable_id
from bomgen.design import BuiltFabric, Design
from bomgen.figures import Figure, formula
from bomgen.sizing.memory import Memory

Path = tuple[str, ...]


def numbers(design: Design) -> dict[Path, Figure]:
    """Every number of the result by its path in bom.json."""
    found: dict[Path, Figure | None] = {}
    sizing = design.sizing
    if run := sizing.run:
        found |= {
            ("workload", "flops"): run.flops,
            ("workload", "hardware_flops"): run.hardware_flops,
            ("workload", "mfu"): run.mfu,
            ("workload", "hfu"): run.hfu,
            ("workload", "peak_flops_per_gpu"): run.peak_flops_per_gpu,
            ("workload", "achieved_flops_per_gpu"): run.achieved_flops_per_gpu,
            ("workload", "tokens_per_second"): sizing.tokens_per_second,
            ("workload", "gpus_required"): run.gpus_required,
            ("workload", "days"): sizing.days,
            ("workload", "parameters"): run.parameters,
            ("workload", "active_parameters"): run.active_parameters,
        }
    if fit := sizing.fit:
        found |= _memory(("workload", "memory"), fit.replica)
        found |= _memory(("workload", "memory", "per_gpu"), fit.per_gpu)
        found |= {
            ("workload", "memory", "gpu"): fit.gpu_memory,
            ("workload", "parallelism", "tensor"): fit.split.tensor,
            ("workload", "parallelism", "pipeline"): fit.split.pipeline,
            ("workload", "parallelism", "data"): fit.split.data,
            ("workload", "parallelism", "context"): fit.split.context,
            ("workload", "parallelism", "expert"): fit.split.expert,
            ("workload", "parallelism", "interleave"): fit.split.interleave,
        }
    found |= {
        ("cluster", "gpus"): sizing.gpus,
        ("cluster", "servers"): sizing.servers,
        ("cluster", "spare_servers"): design.plan.cluster.spare_servers,
        ("cluster", "nics"): design.nics,
        ("cluster", "power_w"): design.power_w,
    }
    for built in design.fabrics:
        found |= _fabric_numbers(built)
    site = design.facility
    found |= {
        ("site", "racks"): site.racks,
        ("site", "compute_racks"): site.compute_racks,
        ("site", "management_racks"): site.management_racks,
        ("site", "servers_per_rack"): site.servers_per_rack,
        ("site", "compute_pdus"): site.compute_pdus,
        ("site", "management_pdus"): site.management_pdus,
        ("site", "power_w"): site.power_w,
        ("site", "facility_power_w"): site.facility_power_w,
        ("site", "energy_cost_per_year"): site.energy_cost_per_year,
        ("site", "run_energy_kwh"): site.run_energy_kwh,
        ("site", "run_energy_cost"): site.run_energy_cost,
    }
    return {path: figure for path, figure in found.items() if figure is not None}


def _memory(path: Path, memory: Memory) -> dict[Path, Figure | None]:
    return {
        (*path, "weights"): memory.weights,
        (*path, "gradients"): memory.gradients,
        (*path, "optimizer"): memory.optimizer,
        (*path, "activations"): memory.activations,
        (*path, "total"): memory.total,
    }


@formula("pieces")
def sum_of_pieces(pieces: int, more_pieces: int) -> int:
    """Pieces in two places."""
    return pieces + more_pieces


def _fabric_numbers(built: BuiltFabric) -> dict[Path, Figure | None]:
    base: Path = ("fabrics", built.plan.name)
    fabric = built.fabric
    found: dict[Path, Figure | None] = {
        (*base, "tiers"): fabric.tier_count,
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
    found[(*base, "switches", "total")] = fabric.switches
    for link in fabric.links:
        found[(*base, "links", link.kind)] = link.count
    found[(*base, "bisection_gbps")] = fabric.bisection_gbps
    modules: dict[str, Figure] = {}
    for use in built.interconnect.modules:
        for key in (use.device, "total"):
            modules[key] = sum_of_pieces(modules[key], use.quantity) if key in modules else use.quantity
    for device, quantity in sorted(modules.items(), key=lambda item: item[0] == "total"):
        found[(*base, "transceivers", device)] = quantity
    for cable in built.interconnect.cables:
        found[(*base, "cables", cable.kind, cable_id(cable))] = cable.quantity
    return found


def dotted(path: Path) -> str:
    """A path as it is written: with dots."""
    return ".".join(path)


class Paths:
    """The path of every figure: its place in bom.json, or for steps on the way the step's name behind a `#`."""

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
