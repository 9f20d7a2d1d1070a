"""The plan as data: every value a figure with its place, every default a cited assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from bomgen.catalog import parts
from bomgen.core.provenance import Figure, Mark
from bomgen.fabric.declaration import Topology
from bomgen.fabric.types import TierChoice
from bomgen.optics.types import LinkSpec
from bomgen.plan.commercial_terms import Operation, QuotePlan

PREDICTED = "predicted"
"""Of a utilisation."""
ESTIMATE = "estimate"
"""The word in place of a goodput that is to be worked out."""
DATA = "data"
"""Attention whose requests are dealt out to the GPUs of a replica."""
COUNTED, LEFT_OUT = "counted", "left_out"
ACTIVATIONS, OPTIMIZER = "activations", "optimizer"
"""What a training run may keep in host memory."""
COMPUTE = "compute"
STORAGE = "storage"
IN_BAND = "in_band"
OUT_OF_BAND = "out_of_band"
REDUNDANT = (STORAGE, IN_BAND)
"""Roles of fabrics that every machine is to keep when a leaf fails."""
ROLES = (COMPUTE, STORAGE, IN_BAND, OUT_OF_BAND)


SWITCHES, PDUS = "switches", "PDUs"
MANAGED = (SWITCHES, PDUS)
"""What an out-of-band fabric connects by itself, as its hosts are called."""
RACK_KINDS = ("compute", "management")
"""Racks of servers, and of everything else."""


class Parallelism(NamedTuple):
    """How a training run is cut up, as given by hand."""

    tensor: Figure
    pipeline: Figure
    interleave: Figure
    context: Figure
    expert: Figure
    sequence_parallel: bool
    mark: Mark


class Tuning(NamedTuple):
    """How a model is fine-tuned."""

    method: Figure
    """full, lora or qlora."""
    rank: Figure
    modules: tuple[str, ...] | None
    """The matrices that get an adapter; None: every one of attention and feed-forward."""
    modules_mark: Mark
    frozen_flops_per_parameter_token: Figure


class OwnStep(NamedTuple):
    """A step that the user measured, and the split it ran with."""

    gpus: Figure
    tensor: Figure
    pipeline: Figure
    interleave: Figure
    context: Figure
    expert: Figure
    step: Figure
    """Days."""


class Training(NamedTuple):
    """A training run. Of `mfu`, `achieved_tflops` and `tokens_per_second_per_gpu` exactly one is there.

    Where the utilisation is to be predicted, `mfu` is the assumption until it is.
    """

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
    embedding: Figure
    """Word: whether the input embedding counts in model FLOPs, COUNTED or LEFT_OUT."""
    recompute: Figure
    """Word: none, selective, full; or auto, the least of them that fits."""
    flash_attention: Figure
    """Word, yes or no: attention scores are never stored, and recomputed in the backward pass."""
    parallel_efficiency: Figure
    goodput: Figure
    """A share; or the word `estimate`: it follows from the interruptions of a cluster of that size."""
    sequence: Figure | None
    micro_batch: Figure
    batch_tokens: Figure
    """Tokens of an optimizer step over the whole cluster."""
    optimizer: Figure
    gradient_precision: Figure
    zero: Figure
    parallelism: Parallelism | None
    """None: found by the program."""
    flops_per_parameter_token: Figure
    recompute_flops_per_parameter_token: Figure
    published_runs: Callable[[], tuple[parts.PublishedRun, ...]] = tuple
    """Read when they are asked for."""
    predicted: Figure | None = None
    """Word: the utilisation is to be predicted; None: it is given, measured or assumed."""
    stack: Figure | None = None
    """Word: software of the prediction; None: the newest known for the accelerator."""
    measured: tuple[OwnStep, ...] = ()
    network: Figure | None = None
    """Network of a GPU where the plan has no compute fabric [Gb/s], for the prediction."""
    tuning: Tuning | None = None
    """None: pre-training, or another run that trains every weight from nothing."""
    offload: tuple[str, ...] = ()
    """What is kept in host memory: ACTIVATIONS, OPTIMIZER."""


class PublishedRange(NamedTuple):
    """An assumption that published results spread widely around."""

    low: Figure
    typical: Figure
    high: Figure


class Degrees(NamedTuple):
    """How a replica of a served model is cut up, as given by hand."""

    tensor: Figure
    pipeline: Figure
    mark: Mark
    attention: str = "tensor"
    """tensor: every GPU works on all requests; DATA: on requests of its own, with experts spread over all GPUs."""


class Inference(NamedTuple):
    """A model to be served."""

    mark: Mark
    model: parts.Model
    precision: Figure
    """Word: number format of the weights."""
    kv_precision: Figure
    """Word: number format of the KV cache."""
    context: Figure | None
    """Tokens held a request; None: the plan gives none, and the model's is not known."""
    concurrency: Figure
    """Requests in flight over the whole cluster, all of which are held in memory."""
    batch: Figure | None
    """Requests that a replica works on at a time, in the estimate; None: as many as it holds."""
    output_tokens: Figure | None
    """A request."""
    requests_per_minute: Figure | None
    tokens_per_second_per_gpu: Figure | None
    """Measured; None: estimated from a roofline."""
    engine: Figure
    """Word: vllm, sglang or tensorrt-llm; the memory that is left to it is assumed by it."""
    memory_share: Figure
    """Share of a GPU's memory that weights and KV cache may fill."""
    degrees: Degrees | None
    """None: found by the program."""
    drafted: Figure | None
    """Tokens that speculative decoding drafts a step; None: none."""
    accepted: Figure | None
    """Of these, the mean number that is accepted."""
    disaggregated: bool
    """Prompts have replicas of their own."""
    compute_efficiency: PublishedRange
    """Share of the peak that prompts reach."""
    bandwidth_efficiency: PublishedRange
    """Share of the memory bandwidth that answers reach."""


class Compute(NamedTuple):
    """Peak computing power that is asked for."""

    mark: Mark
    target: Figure
    """FLOP/s."""
    precision: Figure
    sparsity: Figure
    """Word: dense or sparse."""


class StorageServers(NamedTuple):
    """Storage servers or appliances that the plan names; None is what the plan does not say."""

    mark: Mark
    identity: parts.Identity
    pieces: Figure | None
    """How many are bought; None: as many as capacity and bandwidth ask for."""
    capacity_bytes: Figure | None
    read: Figure | None
    """Of one server [bytes/s]."""
    write: Figure | None
    power_w: Figure | None
    rack_units: Figure | None
    weight_kg: Figure | None
    ports: Figure
    """Of each on a storage fabric."""
    plug: Plug | None = None
    """None: nobody says, and it is taken for the GPU servers'."""
    least: Figure | None = None
    """Fewest that are sold together; None: one."""
    bmc_ports: Figure | None = None
    """Management ports of each; None: not known."""
    supplies: parts.PowerSupplies | None = None
    """Of each; None: not known."""


class StorageLevel(NamedTuple):
    """Bandwidth of storage at one level, as NVIDIA's SuperPOD reference architecture prints it [bytes/s]."""

    read_of_server: Figure
    """What a single server reads."""
    write_of_server: Figure
    read_of_four_units: Figure
    """What all servers of four scalable units read at a time."""
    write_of_four_units: Figure


class Storage(NamedTuple):
    """Checkpoints, data and the bandwidth for both; None is what the plan does not say."""

    mark: Mark
    given: bool
    """Whether the plan has the block; without it only the assumptions are there."""
    checkpoint_every: Figure | None
    """Days."""
    keep: Figure
    """Checkpoints held at a time."""
    dataset_bytes: Figure | None
    read_per_server: Figure | None
    """Bytes/s."""
    write_per_server: Figure | None
    """Bytes/s."""
    level: Figure
    """Word: good, better or best, after NVIDIA's SuperPOD; for what the plan does not say of bandwidth."""
    levels: Mapping[str, StorageLevel]
    """By that word."""
    unit_servers: Figure
    """Servers of a scalable unit."""
    server_gpus: Figure
    """GPUs of a server that reads and writes, where no server is known."""
    interruption_gpu_hours: Figure
    """GPU-hours between two interruptions."""
    interruption_range: tuple[Figure, Figure] | None
    """Those of the published clusters with the most and the fewest interruptions; None: the plan gives its own."""
    restart_days: Figure
    """From an interruption to training again."""
    servers: StorageServers | None


class Cluster(NamedTuple):
    """What is bought to compute with. `round_up_to` is a word, or a figure of servers."""

    mark: Mark
    gpu: parts.Gpu
    server: parts.Server | None
    server_nic: parts.Nic | None
    """The server's own compute NIC, where the catalogue knows it."""
    gpus: Figure | None
    servers: Figure | None
    racks: Figure | None
    """Of a rack-scale system."""
    round_up_to: Figure
    spare_servers: Figure | None


class Plug(NamedTuple):
    """How a machine beside the servers is plugged into a fabric."""

    cage: str
    ports_per_cage: Figure
    port_gbps: Figure | None
    """None: as fast as the links of the fabric."""


class Hosts(NamedTuple):
    """Machines on a fabric beside the servers, all alike."""

    name: str
    pieces: Figure
    """How many there are."""
    ports: Figure
    """Ports of each on the fabric, over all planes."""
    part: parts.Appliance | None = None
    """What is bought for each; None: it is there, or billed elsewhere."""
    plug: Plug | None = None
    """None: nobody says, and it is taken for the servers'."""
    leaves_of: str | None = None
    """The fabric whose topmost switches they are."""
    managed: str | None = None
    """Which of `MANAGED` they are: machines of other fabrics that this one connects by itself."""


class Uplink(NamedTuple):
    """Links of a fabric's topmost switches into another fabric."""

    fabric: str
    ports: Figure
    """Links of each switch."""
    mark: Mark


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
    rails_per_leaf: Figure | None
    """None: as many as need the fewest switches."""
    split_servers: bool | None
    """Whether the ports of a server may end on several leaves; None: where it has too many for one in eight."""
    build_out: Figure
    tier_plans: Mapping[str, TierChoice]
    """By leaf, spine and core."""
    pod_leaves: Figure | None
    pod_rails: Figure
    """A word: whether a pod holds leaves of one rail or of all, where leaves belong to rails."""
    homing: Figure
    """A word: how the ports of a machine are dealt out to the switches."""
    homing_asked: bool
    """Whether it is built so at any number of switches; else only where it costs none."""
    peer_links: Figure | None
    """Of each pair of switches of a mesh; None: as many as the ratio asks."""
    allow_islands: bool
    """Whether pods that no core connects are meant."""
    planes: Figure
    reserved_ports: Figure | None
    hosts: tuple[Hosts, ...]
    switch_ports: Figure | None
    """Of an out-of-band fabric: management ports of each switch of the other fabrics."""
    pdu_ports: Figure | None
    """Of an out-of-band fabric: management ports of each PDU."""
    machine_ports: Figure | None
    """Of an out-of-band fabric: management ports of each other machine, such as a storage server."""
    uplink: Uplink | None
    links: Mapping[str, LinkSpec]
    declared: Topology
    """What its topology declares."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """What the plan says under the name of the topology."""
    host_cage: Figure
    """Word: the cage of machines beside the servers of which nobody says it."""
    otherwise: FabricPlan | None = None
    """Another form of the same fabric; the one with fewer switches is built."""

    @property
    def switchless(self) -> bool:
        """Whether its topology connects nodes directly, without switches."""
        return self.declared.switchless

    @property
    def populate_used_ports_only(self) -> bool:
        """Whether ports that serve nobody have no module and no cable."""
        return bool(self.build_out.value == "exact")


class Layout(NamedTuple):
    """Where racks stand, and how cables run between them."""

    mark: Mark
    given: bool
    """Whether the plan has the block: cables are then as long as their way, else as their link says."""
    rows: tuple[tuple[tuple[str, Figure], ...], ...] | None
    """The racks of every row, kind by kind; None: derived."""
    racks_per_row: Figure
    unit_m: Figure
    """Height of a rack unit."""
    rack_pitch_m: Figure
    row_pitch_m: Figure
    tray_m: Figure
    """From the top of a rack to the tray."""
    slack_m: Figure
    """At either end of a cable."""


class Site(NamedTuple):
    """Racks, power and its price."""

    mark: Mark
    rack_units: Figure
    rack_power_w: Figure
    allow_overload: bool
    """Whether racks may exceed their height, load, power or cooling limit, with a warning instead of an error."""
    pdus_per_rack: Figure
    """0 for a rack-scale system, which comes with its own power supply."""
    servers_per_rack: Figure | None
    management_racks: Figure | None
    management_pdus: Figure
    management_power_w: Figure
    """Of a management rack."""
    rack: parts.Rack | None
    """None: any rack of that height."""
    rack_cooling_w: Figure | None
    """Heat that can be taken out of a rack."""
    pdu: parts.Pdu | None
    """Of compute racks; None: any."""
    management_pdu: parts.Pdu | None
    feeds: Figure | None
    """None: as many as a compute rack has PDUs, times `feeds_per_pdu`."""
    feeds_per_pdu: Figure
    redundancy: Figure
    """Word: n, n+1 or 2n."""
    pue: Figure | None
    electricity: Figure | None
    carbon: Figure | None
    """kg CO2e of a kWh."""
    layout: Layout


class Plan(NamedTuple):
    """A plan whose every part is known."""

    name: str
    title: str
    mark: Mark
    training: Training | None
    """A training or fine-tuning run."""
    inference: Inference | None
    compute: Compute | None
    cluster: Cluster
    fabrics: tuple[FabricPlan, ...]
    storage: Storage
    site: Site | None
    spares: Mapping[str, Figure]
    """By category: a share below 1 in unit `share`, or pieces in unit `count`."""
    quote: QuotePlan
    stock: Mapping[str, Figure]
    """Pieces that the customer has, by catalogue id or part number in lower case."""
    operation: Operation | None
    templates: tuple[tuple[str, Mark], ...] = ()
    """Paths of templates of the user's own, each with its place."""
    cluster_name: str = ""
    """Which of several clusters of one plan it is; empty where there is one."""
    complete_order: bool = True
    """Whether parts that others require, and that leave no choice, are added to the bill."""
    digits: Mapping[str, int] = {}
    """Of the numbers in names of devices, by what these begin with; where a lock says nothing, those of the largest."""
