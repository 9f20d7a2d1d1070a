"""The plans that are timed beside plans/llama65b.yaml."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

MILLION = """
bomgen: 1
name: million
cluster: {gpu: h100-sxm, gpus: 1000000}
fabrics: {compute: {topology: TOPOLOGY, switch: generic-th6-64x1600, link: 400G, tiers: 3}}
"""
WIRED = """
bomgen: 1
name: wired
cluster: {gpu: h100-sxm, gpus: GPUS}
fabrics:
  compute:
    switch: generic-th6-64x1600
    link: 400G
    tiers: 3
    links:
      server-leaf: {medium: transceiver, module: generic-400g}
      leaf-spine: {medium: transceiver, module: generic-400g}
      spine-core: {medium: transceiver, module: generic-400g}
"""
QUOTED = """
bomgen: 1
name: quoted
cluster: {gpu: h100-sxm, gpus: 16384}
fabrics: {compute: {switch: qm9700, tiers: 3}}
site: {rack: {power: 45 kW}, layout: auto, pue: 1.3, electricity: 0.08}
quote: {price_book: prices/example-2026q4.yaml}
"""
PRICED = "prices/example-2026q4.yaml"
"""The price book of QUOTED."""
SEARCHED = "plans/search-30b.yaml"
SEARCHED_OVER = (
    "cluster.servers=2..501",
    "fabrics.compute.topology=fat-tree,rail-optimized,rail-only",
    "fabrics.compute.switch=qm8700,qm9700,q3400-ra",
    "fabrics.compute.oversubscription=1,2",
    "workload.training.recompute=auto,full,selective,none",
    "workload.training.precision=bf16,fp8",
    f"workload.training.mfu={','.join(f'{share}%' for share in range(25, 50))}",
)
"""With the GPUs of the plan 7.2 million designs of 36 000 networks, in one to three tiers."""
SEARCHED_LONG = f"workload.training.tokens={','.join(f'{hundreds}00B' for hundreds in range(1, 15))}"
"""With these 100.8 million."""
SEARCHED_MINIMISE = ("cost",)
LINES = 10_000
"""Lines of the bills that are compared."""
LISTED = 20_000
"""Rows of the price lists that are read."""
LISTED_AS = ("P/N", "Description", "List price", "Disc. %", "Net price", "Lead time")
RANDOM = "random"
"""Names the plans that `draw_plans` draws."""
DRAWN, SEED, MOST_SERVERS = 200, 20_261_123, 4096


def listed_rows() -> Iterator[tuple[str | float, ...]]:
    """The rows of a vendor's price list, the same at each call: every part with its discount and lead time."""
    draw = Random(SEED)  # noqa: S311
    for number in range(LISTED):
        cents, share = draw.randint(500, 4_000_000), draw.choice((0, 5, 10, 20))
        paid = round(cents * (100 - share) / 100) / 100
        yield f"AC-{number:05}-{draw.randint(100, 999)}", f"Part {number}", cents / 100, share, paid, "6-8 weeks"


def draw_plans() -> Iterator[dict[str, Any]]:
    """Random plans of one fabric, the same at each call: servers, topology and ratio."""
    draw = Random(SEED)  # noqa: S311
    for number in range(DRAWN):
        fabric = {"switch": "qm9700", "topology": draw.choice(("fat-tree", "rail-optimized"))}
        yield {
            "bomgen": 1,
            "name": f"plan-{number}",
            "cluster": {"gpu": "h100-sxm", "servers": draw.randint(1, MOST_SERVERS)},
            "fabrics": {"compute": fabric | {"oversubscription": draw.choice((1, 2, 3, 4))}},
        }
