"""The plan as data: every value a figure with its place, every default a cited assumption."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from bomgen import parts
from bomgen.fabric.model import TierChoice
from bomgen.figures import Figure, Mark
from bomgen.medium import Wish

ROLES = ("compute", "storage", "in_band", "out_of_band")


LINK_KINDS = {"server-leaf": ("server", "leaf"), "leaf-spine": ("leaf", "spine"), "spine-core": ("spine", "core")}
"""The kinds of link, each with the kinds of device at its lower and upper end."""


class Parallelism(NamedTuple):
    """How a training run is cut up, as given by hand."""

    tensor: Figure
    pipeline: Figure
    interleave: Figure
    context: Figure
    expert: Figure
    sequence_parallel: bool
    mark: Mark


class Training(NamedTuple):
    """A training run. Of `mfu`, `achieved_tflops` and `tokens_per_second_per_gpu` exactly one is there."""

    mark: Mark
    model: parts.Model
    tokens: Figure
    epochs: Figure
    target_days: Figure | None
    precision: Figure
    mfu: Figure | None
    achieved_tflops: Figure | None
    tokens_per_second_per_gpu: Figure | None
    attention: Figure
    recompute: Figure
    parallel_efficiency: Figure
    goodput: Figure
    sequence: Figure | None
    micro_batch: Figure
    batch_tokens: Figure | None
    optimizer: Figure
    gradient_precision: Figure
    zero: Figure
    parallelism: Parallelism | None
    """None: found by the program."""
    flops_per_parameter_token: Figure
    recompute_flops_per_parameter_token: Figure


class Cluster(NamedTuple):
    """What is bought to compute with. `round_up_to` is a word, or a figure of servers."""

    mark: Mark
    gpu: parts.Gpu
    server: parts.Server | None
    server_nic: parts.Nic | None
    """The server's own compute NIC, where the catalogue knows it."""
    gpus: Figure | None
    servers: Figure | None
    round_up_to: Figure
    spare_servers: Figure | None


class FabricPlan(NamedTuple):
    """One fabric of the plan."""

    name: str
    mark: Mark
    role: str
    topology: Figure
    nic: parts.Nic | None
    """A NIC that is bought; None: the server's own."""
    gpus_per_nic: Figure | None
    ports_per_server: Figure | None
    link_gbps: Figure | None
    tiers: Figure | None
    """None: as few as fit."""
    oversubscription: Figure
    spine_oversubscription: Figure
    scalable_unit: Figure | None
    build_out: Figure
    tier_plans: Mapping[str, TierChoice]
    """By leaf, spine and core."""
    pod_leaves: Figure | None
    reserved_ports: Figure | None
    links: Mapping[str, Wish]


class Site(NamedTuple):
    """Racks, power and its price."""

    mark: Mark
    rack_units: Figure
    rack_power_w: Figure
    pdus_per_rack: Figure
    servers_per_rack: Figure | None
    management_racks: Figure | None
    management_pdus: Figure
    pue: Figure | None
    electricity: Figure | None


class QuotePlan(NamedTuple):
    """What the plan says of the quote; shares are figures."""

    customer: str | None
    currency: str
    assumed_currency: Figure | None
    """The assumption that the currency is, where the plan gives none."""
    price_books: tuple[tuple[str, Mark], ...]
    discounts: Mapping[str, Figure]
    """By category, and `default`."""
    tax: Figure | None
    valid_days: Figure | None
    date: str | None
    date_mark: Mark | None
    language: str
    mark: Mark


class Plan(NamedTuple):
    """A plan whose every part is known."""

    name: str
    title: str
    mark: Mark
    training: Training | None
    cluster: Cluster
    fabrics: tuple[FabricPlan, ...]
    site: Site | None
    spares: Mapping[str, Figure]
    """By category: a share below 1 in unit `share`, or pieces in unit `count`."""
    quote: QuotePlan
