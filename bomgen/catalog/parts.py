"""The catalogue's parts and models as data: what a part is called and the figures known of it.

A figure that nobody knows is None; whoever needs it says so instead of guessing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from bomgen.core.provenance import Figure, Mark

AVAILABLE = "available"
ANY = "any"
"""A cage, optic or fibre of a generic part: it stands for whatever fits."""


class Identity(NamedTuple):
    """What a part is called, where its record is, and whether it can be ordered."""

    kind: str
    id: str
    """Catalogue id; for a mapping in the plan a slug of its name."""
    name: str
    vendor: str | None = None
    part_number: str | None = None
    ordering_number: str | None = None
    mark: Mark | None = None
    """Where the plan names or describes it."""
    inline: bool = False
    """Described by a mapping in the plan: no orderable part."""
    generic: bool = False
    """Stands for any vendor's part of its kind."""
    availability: str = AVAILABLE

    @property
    def sku(self) -> str | None:
        """Part number with the ordering number beside it, or None for a part without one."""
        numbers = [number for number in (self.part_number, self.ordering_number) if number]
        return " / ".join(numbers) or None


class Gpu(NamedTuple):
    """An accelerator. Dense and sparse peaks are apart: dense is never a sparse number [TFLOP/s]."""

    identity: Identity
    dense: Mapping[str, Figure]
    sparse: Mapping[str, Figure]
    memory_bytes: Figure | None
    power_w: Figure | None
    memory_bandwidth: Figure | None = None
    """Bytes/s."""
    pod_chips: Figure | None = None
    """Chips of a pod that are joined by links of their own, for accelerators that are rented by the pod."""
    pod_dimensions: tuple[Figure, ...] = ()
    """Chips along each dimension of a whole pod, where they are published."""
    pod_link_gbps: Figure | None = None
    """Rate of a link between chips of a pod, in each direction."""
    pcie_gbps: Figure | None = None
    """Raw rate of its PCIe, one way."""
    scale_up: Figure | None = None
    """Bytes/s to its neighbours over their own links (NVLink, Infinity Fabric), both directions together."""


class Nic(NamedTuple):
    """A network adapter: ports of one rate, each in a cage of its own unless `ports_per_cage` says otherwise."""

    identity: Identity
    ports: Figure
    port_gbps: Figure
    cage: str
    ports_per_cage: Figure
    protocols: tuple[str, ...]
    power_w: Figure | None


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """The network ports that a server comes with, for one purpose."""

    count: Figure
    """NICs, or for storage and in-band the ports themselves."""
    gbps: Figure | None
    """None: as the NIC says."""
    cage: str
    ports_per_cage: Figure


class PowerSupplies(NamedTuple):
    """The power supplies of a machine, each with an inlet of its own."""

    pieces: Figure
    needed: Figure | None
    """So many of them carry the machine at its maximum; None: nobody says."""
    inlet: str
    """c14 or c20: what its cord is plugged into is a C13 or C19 outlet."""


class Server(NamedTuple):
    """A server with its GPUs; for a rack-scale system one compute tray, bought by the rack of `trays`."""

    identity: Identity
    gpu: str | None
    gpus: Figure
    gpus_included: bool
    trays: Figure | None
    nic: str | None
    compute: ServerPorts | None
    storage: ServerPorts | None
    bmc_ports: Figure | None
    rack_units: Figure | None
    power_w: Figure | None
    """Maximum of what is bought: the server, or the whole rack."""
    weight_kg: Figure | None = None
    """Of what is bought."""
    supplies: PowerSupplies | None = None

    @property
    def rack_scale(self) -> bool:
        """Whether it is bought by the rack."""
        return self.trays is not None


class Appliance(NamedTuple):
    """A management server or fabric manager."""

    identity: Identity
    rack_units: Figure | None
    power_w: Figure | None
    cage: str
    """Of its ports on fabrics of its protocols."""
    ports_per_cage: Figure
    protocols: tuple[str, ...]
    weight_kg: Figure | None = None
    supplies: PowerSupplies | None = None


class Rack(NamedTuple):
    """A rack: its height inside, what it weighs and covers, and what may stand in it."""

    identity: Identity
    rack_units: Figure | None
    width_mm: Figure | None
    depth_mm: Figure | None
    weight_kg: Figure | None
    load_kg: Figure | None


class Pdu(NamedTuple):
    """A rack PDU."""

    identity: Identity
    power_w: Figure | None
    """It may carry all the time."""
    outlets: Mapping[str, Figure]
    """By c13, c19 and either, those that are known."""
    rack_units: Figure | None
    """0: it stands upright beside the units."""
    weight_kg: Figure | None


class PortGroup(NamedTuple):
    """Equal ports of a switch at full rate, several to a cage where that is so, each splitting into `split` links."""

    ports: Figure
    port_gbps: Figure
    ports_per_cage: Figure
    split: Figure
    cage: str
    modes: Mapping[int, Figure]
    """Ports by rate [Gb/s] where the vendor's table says something else than `split` gives."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards of one kind that a modular chassis is fitted with."""

    identity: Identity | None
    """None: no part is known."""
    count: Figure | None
    """In a chassis; None: not known, or for line cards as many as the ports in use need."""


class Chassis(NamedTuple):
    """What a modular switch is put together from: line cards in slots, and what they need."""

    slots: Figure | None
    """For line cards."""
    ports_per_card: Figure | None
    cards: Mapping[str, Cards]
    """By `line_cards`, `fabric_cards`, `supervisors` and `power_supplies`."""


class PortNames(NamedTuple):
    """What the vendor calls the ports of a switch: `{cage}` and the like stand for numbers."""

    cage: str | None
    """The port of a cage that has one; None here and below: numbered from 1."""
    port: str | None
    """One of several ports in a cage."""
    split: str | None
    """A part of a split port."""
    first_card: int
    """The number of the first line card; of cages, ports and parts likewise."""
    first_cage: int
    first_port: int
    first_part: int
    lanes: int
    """Electrical lanes of a cage, by the first of which `{lane}` calls a part; numbered from 1."""


class Switch(NamedTuple):
    """A switch. `switches_per_unit` independent switches may share one box that is bought."""

    identity: Identity
    protocol: str | None
    groups: tuple[PortGroup, ...]
    switches_per_unit: Figure
    rack_units: Figure | None
    power_w: Figure | None
    typical_power_w: Figure | None
    """Stands in for a maximum that is not published."""
    port_names: PortNames | None = None
    """None: nobody knows."""
    chassis: Chassis | None = None
    """What a modular one is put together from; its ports are those of the line cards it is fitted with."""
    weight_kg: Figure | None = None
    supplies: PowerSupplies | None = None


class Module(NamedTuple):
    """A pluggable transceiver of `ports` independent optical engines; a twin-port module has two."""

    identity: Identity
    rate_gbps: Figure
    ports: Figure
    cage: str
    optic: str
    fibre: str
    connector: str
    reach_m: Figure | None
    protocols: tuple[str, ...]
    power_w: Figure | None
    lane_gbps: int | None = None
    """None: not known."""
    replaces: tuple[str, ...] = ()
    """Ids of the modules that it stands in for."""
    stands_for: str | None = None
    """Id of the part that it takes the place of; it is preferred as that would be."""

    @property
    def engine_gbps(self) -> int:
        """The rate of one engine, and so of one link."""
        return int(self.rate_gbps.value // self.ports.value)


class CableEnd(NamedTuple):
    """One end of a cable: the cage its plugs fit, the links a plug carries, and how many plugs there are."""

    cage: str
    ports: int
    ends: int


class Cable(NamedTuple):
    """A cable family by length: copper or optical with both ends, or a fibre between modules."""

    identity: Identity
    medium: str
    """dac, acc, aoc, fibre, copper or trunk."""
    link_gbps: int | None
    links: Figure
    a: CableEnd | None
    b: CableEnd | None
    lengths_m: tuple[float, ...]
    """Lengths sold; empty when unknown."""
    fibre: str | None
    connector: str | None
    protocols: tuple[str, ...]
    ordering_numbers: Mapping[str, str]
    polarity: str | None = None
    """Of a fibre; None: not known, or none needed."""
    replaces: tuple[str, ...] = ()
    """Ids of the cables that it stands in for."""
    stands_for: str | None = None
    """Id of the part that it takes the place of; it is preferred as that would be."""
    named_length_m: Fraction | None = None
    """The length that the name it was asked for by stands for, such as `mfp7e10-n030`."""


class Panel(NamedTuple):
    """A patch panel: each port takes a jumper in front and a leg of a trunk behind."""

    identity: Identity
    ports: Figure
    connectors: tuple[str, ...]
    """That its ports take."""
    rack_units: Figure
    weight_kg: Figure | None


class PublishedRun(NamedTuple):
    """A training run whose length somebody published."""

    identity: Identity
    active_parameters: Figure
    tokens: Figure
    gpu: str
    """What the GPU is called."""
    gpu_hours: Figure
    peak_tflops: Figure
    """Dense bf16 peak of its GPU."""


class Model(NamedTuple):
    """A transformer: parameter counts, and the shape where it is known.

    The words say how its layers are built; their defaults are those of the Llama family.
    """

    identity: Identity
    parameters: Figure
    active_parameters: Figure
    moe: bool
    shape: Mapping[str, Figure]
    """layers, hidden, heads, kv_heads, head_dim, ffn, vocab, context; for mixtures of experts ffn_dense, ffn_expert,
    experts, topk, shared, dense_layers; for latent attention q_lora_rank, kv_lora_rank, rope_head_dim, v_head_dim;
    norms_per_layer, positions, window, window_layers: those that are known."""
    tied: bool = False
    """Input and output embedding are one matrix."""
    mla: bool = False
    """Latent attention: keys and values are kept compressed."""
    mlp: str = "gated"
    """gated: two matrices up and one down; plain: one up and one down."""
    bias: str = "none"
    """Which matrices have a bias: none, qkv or all."""
    norm: str = "rms"
    """rms: one weight an element; layer: a weight and a bias."""
    qk_norm: bool = False
    """Queries and keys are normalised, head by head."""
    embedding_norm: bool = False
    """A norm follows the input embedding."""
    relative_positions: bool = False
    """A matrix a layer projects relative positions, as in Transformer-XL."""
    router_bias: bool = False
    """A bias an expert balances the router's choice, as in DeepSeek-V3."""
