"""The records of the catalogue: parts and models, their known figures, and the bandwidth per GPU of a server.

An unknown figure is None; code that needs it reports that instead of guessing.

The share of the network is compared with PCIe (raw, one way: two A100 at 256 Gb/s share a NIC of 400) and with the
GPU's scale-up links, for which data sheets add both directions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Mark, Origin, Reference, formula
from bomgen.core.units import BITS_A_BYTE, GIGA

AVAILABLE = "available"
NOT_YET_SOLD = ("planned", "sampling")
"""Availability of announced parts."""
LIQUID, AIR = "liquid", "air"
"""Words of a form of cooling; a switch that liquid cools alone has no airflow."""
ANY = "any"
"""A cage, optic or fibre of a generic part, which matches any."""
GENERIC = "generic"
"""The vendor of a part that represents any vendor's."""
DSP = "dsp"
"""Electronics of a module that retimes in both directions."""


PIECE, FABRIC, YEAR = "piece", "fabric", "year"
"""Requirements per piece of a part, per fabric that has some, and per piece and year."""


class Requirement(NamedTuple):
    """A part that an order of another part also requires."""

    parts: tuple[str, ...]
    """Names of the part, or of those that the buyer chooses from."""
    quantity: Figure | None
    """Pieces per unit of `per`; None if it depends on the choice."""
    per: str
    """`piece`, `fabric` or `year` of the part, or the servers, GPUs, switches or racks of the cluster."""
    references: tuple[Reference, ...]
    """Documents of the requirement; empty if unverified."""
    mark: Mark | None = None
    """The place in the file of the part; None for built-in data."""
    included: bool | None = False
    """Whether it is included with the part, or is not needed; None if unknown."""


class Identity(NamedTuple):
    """Names and numbers of a part, the place of its record, and whether it can be ordered."""

    kind: str
    id: str
    """Catalogue id; for a mapping in the plan, a slug of its name."""
    name: str
    vendor: str | None = None
    part_number: str | None = None
    ordering_number: str | None = None
    mark: Mark | None = None
    """Place in the plan that names or describes it."""
    inline: bool = False
    """Whether a mapping in the plan describes it, so that it cannot be ordered."""
    generic: bool = False
    """Whether it represents any vendor's part of its kind."""
    availability: str = AVAILABLE
    availability_date: str | None = None
    successor: str | None = None
    """Name of the part that replaces it."""
    category: str = ""
    """Category of an accessory on the bill; empty for other parts, whose kind determines it."""
    requires: tuple[Requirement, ...] = ()
    facts: tuple[str, ...] = ()
    """What it is, in the figures of its record (catalog/identity.py)."""

    @property
    def sku(self) -> str | None:
        """Part number and ordering number, or None for a part without either."""
        numbers = [number for number in (self.part_number, self.ordering_number) if number]
        return " / ".join(numbers) or None


class Gpu(NamedTuple):
    """An accelerator. Dense and sparse peaks [TFLOP/s] are kept separately; a dense peak is never a sparse one."""

    identity: Identity
    dense: Mapping[str, Figure]
    sparse: Mapping[str, Figure]
    memory_bytes: Figure | None
    power_w: Figure | None
    memory_bandwidth: Figure | None = None
    """Bytes/s."""
    pod_chips: Figure | None = None
    """Chips of a pod with direct links, for accelerators that are rented by the pod."""
    pod_dimensions: tuple[Figure, ...] = ()
    """Chips along each dimension of a whole pod, where published."""
    pod_link_gbps: Figure | None = None
    """Rate of a link between chips of a pod, in each direction."""
    pcie_gbps: Figure | None = None
    """Raw PCIe rate, one way."""
    scale_up: Figure | None = None
    """Scale-up bandwidth to other GPUs (NVLink, Infinity Fabric) [bytes/s], both directions together."""
    host_memory: Figure | None = None
    """Host memory per GPU [bytes]."""
    cuda_memory: Figure | None = None
    """Memory that CUDA, or its counterpart, sees [bytes]; None if unknown."""
    flash_attention: Figure | None = None
    """Word: no, for an accelerator without FlashAttention kernels; None for one with them."""


class Nic(NamedTuple):
    """A network adapter: ports of one rate, each in a separate cage unless `ports_per_cage` says otherwise."""

    identity: Identity
    ports: Figure
    port_gbps: Figure
    cage: str
    ports_per_cage: Figure
    protocols: tuple[str, ...]
    power_w: Figure | None
    ethernet_gbps: Figure | None = None
    """Maximum rate of an Ethernet link of one port; None: that of the port."""


@dataclass(frozen=True, slots=True)
class ServerPorts:
    """The built-in network ports of a server for one purpose."""

    count: Figure
    """NICs, or for storage and in-band the ports themselves."""
    gbps: Figure | None
    """None: as given by the NIC."""
    cage: str
    ports_per_cage: Figure


class PowerSupplies(NamedTuple):
    """The power supplies of a machine, each with an inlet."""

    pieces: Figure
    needed: Figure | None
    """Power supplies that carry the machine at its maximum power; None if unknown."""
    inlet: str
    """c14 or c20, for a C13 or C19 outlet."""


SERVER_SLOTS = {"cpu": "cpu_sockets", "memory": "memory_slots", "nvme": "drive_bays", "nics": "nic_slots"}
"""The fields with the most pieces that a server holds, by the key of its configuration in a plan."""


class Component(NamedTuple):
    """A part of the configuration of a server that is a line of the bill."""

    key: str
    """`cpu`, `memory` or `nvme`."""
    name: str
    pieces: Figure
    """Pieces per server."""
    part_number: str | None


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
    """Management ports of the server, or of a tray."""
    rack_units: Figure | None
    power_w: Figure | None
    """Maximum power of the unit bought: the server, or the whole rack; an estimate where none is published."""
    supply_capacity_w: Figure | None = None
    """Power of the supplies that carry the server; None if their rating is unknown."""
    weight_kg: Figure | None = None
    """Weight of the unit bought; an estimate where none is published."""
    liquid_cooled: bool = False
    """Whether coolant carries the heat of its GPUs."""
    liquid_share: Figure | None = None
    """The share of its heat that coolant carries; None if it is not published."""
    host_memory: Figure | None = None
    """Memory of the server, or of a tray [bytes]."""
    supplies: PowerSupplies | None = None
    nic_slot_gbps: Figure | None = None
    """Raw rate of the slot of a network card, one way."""
    rack_bmc_ports: Figure | None = None
    """Management ports of a rack besides those of its trays: of NVLink switches and power shelves."""
    nics_included: bool = True
    """Whether the compute NICs come with the server; otherwise they are selected and ordered with it."""
    storage_nic: str | None = None
    """Id of the NIC that has the storage and in-band ports."""
    storage_nics_included: bool = True
    """Whether the NICs for storage and in-band come with the server."""
    base_command_manager: bool = False
    """Whether its reference design has management servers that run NVIDIA Base Command Manager."""
    protocols: tuple[str, ...] = ()
    """Protocols of its compute ports, the usual one first; empty: those of its NIC."""
    configuration: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """What the plan orders the server with: texts by `cpu`, `memory`, `nvme`, `nics`."""
    components: tuple[Component, ...] = ()
    gpu_slots: Figure | None = None
    """Most GPUs of a chassis for cards; None: they are part of the server."""
    published_gpus: tuple[int, ...] = ()
    """Numbers of GPUs with which the chassis is published; empty if unknown."""
    slots: Mapping[str, Figure] = MappingProxyType({})
    """Most pieces, by the keys of `SERVER_SLOTS`, as far as they are known."""

    @property
    def rack_scale(self) -> bool:
        """Whether the server is bought by the rack."""
        return self.trays is not None

    @property
    def without_cards(self) -> bool:
        """Whether it is a chassis for cards whose GPUs are lines of their own."""
        return self.gpu_slots is not None and not self.gpus_included


class Appliance(NamedTuple):
    """A management server or fabric manager."""

    identity: Identity
    rack_units: Figure | None
    power_w: Figure | None
    cage: str
    """Form of cage of the ports on fabrics of its protocols."""
    ports_per_cage: Figure
    protocols: tuple[str, ...]
    weight_kg: Figure | None = None
    supplies: PowerSupplies | None = None
    subnet_manager: bool = False
    """Whether it runs the subnet manager of an InfiniBand fabric."""
    port_gbps: Figure | None = None
    """Rate of its ports; None if unknown: that of the fabric."""


class Partner(NamedTuple):
    """A part that completes a storage system, or several to choose from."""

    parts: tuple[str, ...]
    """Ids of the parts, one of which is needed."""
    quantity: Figure | None
    """Fewest units of the part that has this partner for each unit of it; None if nothing is known."""


class BackEnd(NamedTuple):
    """Switches between the parts of a storage system."""

    switch: str
    """Id of the switch."""
    ports: Figure
    """Ports of a unit to the switches."""
    switches: Figure
    """Fewest switches, and their step."""


class StorageSystem(NamedTuple):
    """A storage system, by the unit ordered; None for unpublished figures."""

    identity: Identity
    least: Figure | None = None
    """Fewest units of a system."""
    capacity_bytes: Figure | None = None
    """Usable capacity of a unit."""
    read: Figure | None = None
    """Read bandwidth of a unit [bytes/s]."""
    write: Figure | None = None
    ports: Figure | None = None
    """Ports of a unit on the storage fabric; 0 if it is reached through other parts."""
    port_gbps: Figure | None = None
    cage: str = ANY
    ports_per_cage: Figure | None = None
    bmc_ports: Figure | None = None
    rack_units: Figure | None = None
    power_w: Figure | None = None
    weight_kg: Figure | None = None
    supplies: PowerSupplies | None = None
    partners: tuple[Partner, ...] = ()
    """What an order of it needs besides, to be a complete system."""
    back_end: BackEnd | None = None


class Rack(NamedTuple):
    """A rack: its height in units, weight, footprint and load rating."""

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
    """Continuous power rating."""
    outlets: Mapping[str, Figure]
    """Outlets by c13, c19 and either, where known."""
    rack_units: Figure | None
    """Height in rack units; 0 if mounted vertically."""
    weight_kg: Figure | None
    input: str | None = None
    """Plug, voltage and current."""


class PortGroup(NamedTuple):
    """Equal ports of a switch at full rate, with `ports_per_cage` ports per cage, each splitting into `split` links."""

    ports: Figure
    port_gbps: Figure
    ports_per_cage: Figure
    split: Figure
    cage: str
    modes: Mapping[int, Figure]
    """Ports by rate [Gb/s] where the vendor's table differs from `split`."""
    cage_power_w: Figure | None = None
    """Power that a cage supplies to its module."""
    split_known: bool = True
    """Whether a source gives `split`; otherwise a port counts as one link."""
    blocking_split: Figure | None = None
    """Links of a cage whose next cage stays empty; None: no such split is known."""
    optics: Module | None = None
    """Co-packaged optics with one connector, which takes a fibre and no module; None: a cage."""


@dataclass(frozen=True, slots=True)
class Cards:
    """Cards of one kind in a modular chassis."""

    identity: Identity | None
    """The part, if known."""
    count: Figure | None
    """Cards per chassis; None if unknown, or for line cards as many as the ports in use need."""


class Chassis(NamedTuple):
    """The components of a modular switch: line cards in slots, and the cards they need."""

    slots: Figure | None
    """Slots for line cards."""
    ports_per_card: Figure | None
    cards: Mapping[str, Cards]
    """Cards by `line_cards`, `fabric_cards`, `supervisors` and `power_supplies`."""


class PortNames(NamedTuple):
    """The vendor's port names of a switch; `{cage}` and other placeholders stand for numbers."""

    cage: str | None
    """Name of the port of a single-port cage; None, here and below: numbered from 1."""
    port: str | None
    """Name of one of several ports in a cage."""
    split: str | None
    """Name of one link of a split port."""
    first_card: int
    """Number of the first line card; likewise of cages, ports and links of split ports."""
    first_cage: int
    first_port: int
    first_part: int
    lanes: int
    """Electrical lanes of a cage, numbered from 1; `{lane}` is the first lane of a split link; `{switch_lane}` is that
    lane over all cages, from 0."""


class Switch(NamedTuple):
    """A switch. `switches_per_unit` independent switches may share one box."""

    identity: Identity
    protocol: str | None
    groups: tuple[PortGroup, ...]
    switches_per_unit: Figure
    rack_units: Figure | None
    power_w: Figure
    """Maximum power; an estimate where none is published."""
    port_names: PortNames | None = None
    """Port names, if known."""
    chassis: Chassis | None = None
    """Components of a modular switch, whose ports are those of its line cards; None for a fixed switch."""
    weight_kg: Figure | None = None
    supplies: PowerSupplies | None = None
    managed: bool = True
    """Whether the switch can run the subnet manager of an InfiniBand fabric."""
    airflow: str | None = None
    """The direction of the air through the part number, such as P2C or `front to rear`; None if unknown."""


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
    """Rate per lane; None if unknown."""
    nic_only: bool = False
    """Whether the vendor sells it for NICs and appliances, not for switches."""
    replaces: tuple[str, ...] = ()
    """Ids of the modules that it can replace."""
    stands_for: str | None = None
    """Id of the part that it replaces in this plan; it is preferred as that part is."""
    electronics: str = DSP
    """dsp, lro or lpo."""

    @property
    def engine_gbps(self) -> int:
        """The rate of one engine, and thus of one link."""
        return int(self.rate_gbps.value // self.ports.value)


class CableEnd(NamedTuple):
    """One end of a cable: form of cage, links per plug, and number of plugs."""

    cage: str
    ports: int
    ends: int


class Cable(NamedTuple):
    """A cable family by length: copper or optical with fixed ends, or a fibre between modules."""

    identity: Identity
    medium: str
    """dac, acc, aec, aoc, fibre, copper or trunk."""
    link_gbps: int | None
    links: Figure
    a: CableEnd | None
    b: CableEnd | None
    lengths_m: tuple[float, ...]
    """Lengths sold; empty if unknown."""
    fibre: str | None
    connector: str | None
    protocols: tuple[str, ...]
    ordering_numbers: Mapping[str, str]
    polarity: str | None = None
    """Polarity of a fibre; None if unknown or irrelevant."""
    replaces: tuple[str, ...] = ()
    """Ids of the cables that it can replace."""
    stands_for: str | None = None
    """Id of the part that it replaces in this plan; it is preferred as that part is."""
    far_connector: str | None = None
    """Connector at the legs of a fan-out, where it differs."""
    named_length_m: Fraction | None = None
    """The length in the name used to look it up, such as `mfp7e10-n030`; None if the name has no length."""


class Panel(NamedTuple):
    """A patch panel: each port takes a jumper in front and a leg of a trunk behind."""

    identity: Identity
    ports: Figure
    connectors: tuple[str, ...]
    """Connectors that its ports accept."""
    rack_units: Figure
    weight_kg: Figure | None


class PublishedRun(NamedTuple):
    """A published training run with a known duration."""

    identity: Identity
    active_parameters: Figure
    tokens: Figure
    gpu: str
    """Name of the GPU."""
    gpu_hours: Figure
    peak_tflops: Figure
    """Dense bf16 peak of its GPU."""


SIXTEEN_BITS, EIGHT_BITS = "bf16", "fp8"
"""Formats of what a quantised checkpoint keeps in more bits."""
ATTENTION, OUTPUT, LINEAR, SHARED, DENSE = "attention", "output", "linear", "shared", "dense"
"""Parts of layers with a format of their own in published checkpoints."""
HEAD, MODULE = "head", "module"
"""Output head, and modules for multi-token prediction, likewise."""


class CheckpointFormat(NamedTuple):
    """What a published checkpoint stores otherwise than its format does by itself."""

    parts: Mapping[str, str]
    """Number formats of parts of the model that differ from the usual."""
    group: Figure | None = None
    """Values that share a scale; None: as usual for the format."""
    scale_bytes: Figure | None = None
    """Bytes of a scale and a zero point."""


class Model(NamedTuple):
    """A transformer: parameter counts, and the shape where it is known.

    The words describe the structure of its layers; their defaults are those of the Llama family.
    """

    identity: Identity
    parameters: Figure
    active_parameters: Figure
    moe: bool
    shape: Mapping[str, Figure]
    """The known keys of the shape.

    For all models layers, hidden, heads, kv_heads, head_dim, ffn, vocab, context; for mixtures of experts ffn_dense,
    ffn_expert, experts, topk, shared, dense_layers; for latent attention q_lora_rank, kv_lora_rank, rope_head_dim,
    v_head_dim; and norms_per_layer, positions, window, window_layers. Layers that differ from these have separate keys:
    global_, linear_, index_, csa_ and hca_, encoders vision_, which `schemas/model.schema.json` describes.
    """
    tied: bool = False
    """Whether the input and output embedding share one matrix."""
    mla: bool = False
    """Whether attention is latent, with compressed keys and values."""
    mlp: str = "gated"
    """gated: two matrices up and one down; plain: one up and one down."""
    bias: str = "none"
    """Matrices with a bias: none, qkv or all."""
    norm: str = "rms"
    """rms: one weight per element; layer: a weight and a bias."""
    qk_norm: bool = False
    """Whether queries and keys are normalised per head."""
    embedding_norm: bool = False
    """Whether a norm follows the input embedding."""
    relative_positions: bool = False
    """Whether one matrix per layer projects relative positions, as in Transformer-XL."""
    router_bias: bool = False
    """Whether one bias per expert balances the router's choice, as in DeepSeek-V3."""
    output_gate: bool = False
    """Whether a matrix makes a gate for the output of attention, as in Qwen3-Next."""
    values_are_keys: bool = False
    """Whether full-attention layers derive values from keys, without a matrix, as in Gemma 4."""
    weight_files: Mapping[str, Figure] = MappingProxyType({})
    """Bytes of the published weight files by number format; for other formats the parameters are counted."""
    checkpoint: Figure | None = None
    """Word: number format of the published weights; None: 16 bits."""
    checkpoint_formats: Mapping[str, CheckpointFormat] = MappingProxyType({})
    """What is particular to published checkpoints, by their format."""
    copied_embeddings: bool = True
    """Whether modules for multi-token prediction hold copies of embedding and output head, as in DeepSeek-V3."""
    eight_bits_rest: bool = False
    """Whether a checkpoint with experts in 4 bits has all other weights in 8."""
    vision_parameters: Figure | None = None
    """Parameters of the vision tower and its projector, beside `parameters`; None without one, or if unknown."""
    chunked: bool = False
    """Whether windows are chunks with fixed bounds, as in Llama 4."""


_PCIE = re.compile(r"PCIe ?(?:Gen ?)?([3-6])(?:\.0)? x([1-9][0-9]?)", re.IGNORECASE)
_GENERATIONS = {3: 8, 4: 16, 5: 32, 6: 64}
"""GT/s per lane by PCIe generation; each transfer is one bit."""


class GpuBandwidth(NamedTuple):
    """Bandwidth of one GPU [Gb/s, one way]; None if unknown."""

    network_gbps: Figure
    pcie_gbps: Figure | None
    scale_up_gbps: Figure | None


@formula("Gb/s", source="PCI-SIG, PCI Express Base Specification: raw rate of the lanes, before encoding and headers")
def pcie_bandwidth(lanes: int, lane_gbps: int) -> int:
    """One-way bandwidth of a PCIe connection."""
    return lanes * lane_gbps


@formula("Gb/s")
def scale_up_bandwidth(scale_up: int) -> Fraction:
    """Scale-up bandwidth one way; data sheets add both directions, in bytes/s."""
    return Fraction(scale_up * BITS_A_BYTE) / (2 * GIGA)


@formula("Gb/s")
def network_bandwidth(ports_per_server: int, link_gbps: int, gpus_per_server: int) -> Fraction:
    """Network bandwidth per GPU of a server."""
    return Fraction(ports_per_server * link_gbps) / gpus_per_server


def parse_pcie(text: str, origin: Origin) -> Figure | None:
    """Return the rate of a PCIe connection such as `PCIe 4.0 x16`, whose text has `origin`; None for other text."""
    match = _PCIE.fullmatch(text.strip())
    if match is None:
        return None
    generation, lanes = (int(group) for group in match.groups())
    document = Reference(f"PCI-SIG, PCI Express Base Specification, revision {generation}.0")
    of = message("pcie-lane", bus=f"PCIe {generation}.0")
    lane = Figure(_GENERATIONS[generation], "Gb/s", Cited(of, (document,), "high"))
    return pcie_bandwidth(Figure(lanes, "count", origin), lane)


def bandwidth_per_gpu(gpu: Gpu, gpus_per_server: Figure, ports_per_server: Figure, link_gbps: Figure) -> GpuBandwidth:
    """Return the bandwidth of one GPU in a server with `ports_per_server` ports on the network."""
    network = network_bandwidth(ports_per_server, link_gbps, gpus_per_server)
    return GpuBandwidth(network, gpu.pcie_gbps, scale_up_bandwidth(gpu.scale_up) if gpu.scale_up else None)
