"""KV cache of prompts outside of the GPU: tokens that are found in host memory or on NVMe are loaded, not processed.

Loading is asynchronous in the engines (vLLM's offloading connector, LMCache): it delays the first token of its request,
and computes nothing. Each GPU of a replica loads its part.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from functools import reduce

from bomgen.catalog.parts import Gpu
from bomgen.core.diagnostics import Infeasible
from bomgen.core.provenance import Figure, formula, sum_of
from bomgen.core.units import BITS_A_BYTE, GIGA
from bomgen.plan.types import Inference
from bomgen.sizing.serving import kv_cache


def cached_share(inference: Inference) -> Figure | None:
    """Return the share of prompt tokens that are in any cache; None: none."""
    tiers = (inference.host_cache, inference.nvme_cache)
    shares = [inference.prefix_cache, *(tier.share for tier in tiers if tier)]
    known = [share for share in shares if share]
    return reduce(add_shares, known) if known else None


def loading_of_prompt(inference: Inference, gpu: Gpu, tensor: Figure, stages: Figure) -> Figure | None:
    """Return the time to load what of a prompt is cached outside of the GPU [s]; None: nothing is.

    Raises Infeasible where the bandwidth of host memory is neither given nor known.
    """
    held = kv_cache.cache(inference.model, str(inference.kv_precision.value))
    if held is None or inference.prompt_tokens is None:
        return None
    size = kv_cache.request_bytes_per_gpu(held, inference.prompt_tokens, tensor, stages)
    loads = [seconds_to_load(size, share, bandwidth) for share, bandwidth in _tiers(inference, gpu)]
    return reduce(add_loading, loads) if loads else None


def _tiers(inference: Inference, gpu: Gpu) -> Iterator[tuple[Figure, Figure]]:
    """Yield the share of each tier and its bandwidth per GPU [bytes/s]."""
    if host := inference.host_cache:
        pcie = bytes_of_pcie(gpu.pcie_gbps) if gpu.pcie_gbps else None
        bandwidth = host.bandwidth or pcie
        if bandwidth is None:
            message = f"the PCIe rate of {gpu.identity.name} is not known; set `cache_tiers.host.bandwidth`"
            raise Infeasible(message, because=host.share, rule="missing-key")
        yield host.share, bandwidth
    if (nvme := inference.nvme_cache) and nvme.bandwidth:
        yield nvme.share, nvme.bandwidth


add_shares = sum_of("add_shares", "share", "share", "more")
"""Share of prompt tokens in several caches."""
add_loading = sum_of("add_loading", "s", "seconds", "more")
"""Time to load from several tiers."""


@formula("bytes/s")
def bytes_of_pcie(pcie_gbps: Fraction) -> Fraction:
    """Rate of a GPU's PCIe link, one way."""
    return Fraction(pcie_gbps) * GIGA / BITS_A_BYTE


@formula("s")
def seconds_to_load(kv_of_request: Fraction, share: Fraction, bandwidth: Fraction) -> float:
    """Time in which a GPU loads its part of the cached KV cache of a prompt."""
    return float(kv_of_request * Fraction(share) / Fraction(bandwidth))
