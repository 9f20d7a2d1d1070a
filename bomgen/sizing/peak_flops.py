"""Peak computing power: of a GPU at a precision, and the GPUs that a target needs."""

from __future__ import annotations

from fractions import Fraction
from math import ceil
from typing import NamedTuple

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Figure, Mark, first_given, formula, product
from bomgen.core.units import TERA
from bomgen.plan.types import Compute

SPARSE = "sparse"


class Target(NamedTuple):
    """A target of peak computing power, and the GPUs it takes."""

    target: Figure
    """FLOP/s."""
    peak_flops_per_gpu: Figure
    """Dense or sparse, as asked [FLOP/s]."""
    gpus_required: Figure


@formula("FLOP/s")
def peak_flops(peak_tflops: Fraction) -> Fraction:
    """Peak of a GPU in FLOP/s."""
    return peak_tflops * TERA


@formula("GPUs")
def gpus_for_target(target: int, peak: Fraction) -> int:
    """Whole GPUs whose peaks reach the target."""
    return ceil(Fraction(target) / peak)


peak_of_cluster = product("peak_of_cluster", "FLOP/s", "gpus", "peak")
"""Peak of all GPUs."""


def peak_of_gpu(gpu: Gpu, precision: Figure, path: str, fallback: Mark, sparse: bool = False) -> Figure:
    """The peak of a GPU at a precision [TFLOP/s], dense unless `sparse`.

    `path` is the block of the plan that asks and `fallback` its place. Raises PlanErrors when the catalogue does not
    know the peak, naming the precisions that it knows.
    """
    peaks, kind = (gpu.sparse, SPARSE) if sparse else (gpu.dense, "dense")
    if precision.value not in peaks:
        # A record may list fp64 on tensor cores (fp64_tensor) separately, which is not a precision of plans.
        known = ", ".join(sorted(name for name in peaks if "_" not in name))
        right = f"`precision:` may be {known}" if known else "write `sparsity: dense`" if sparse else "describe the GPU"
        message = f"no {kind} {precision.value} peak is known for {gpu.identity.name}; {right}"
        mark = first_given(precision) or fallback
        raise PlanErrors([Problem(mark, "error", message, "unknown-figure", path)])
    return peaks[str(precision.value)]


def size(compute: Compute, gpu: Gpu) -> Target:
    """The GPUs that a target of computing power takes. Raises PlanErrors when the GPU's peak is not known."""
    sparse = compute.sparsity.value == SPARSE
    peak = peak_flops(peak_of_gpu(gpu, compute.precision, "workload.compute", compute.mark, sparse))
    return Target(compute.target, peak, gpus_for_target(compute.target, peak))
