"""The plan as data: every value a figure with its place, every default a cited assumption."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from bomgen.catalog import parts
from bomgen.core.provenance import Assumed, Figure, Mark
from bomgen.fabric.types import TierChoice, Topology
from bomgen.optics.compatibility import LinkSpec
from bomgen.plan.commercial_terms import Operation, QuotePlan
from bomgen.plan.schema import Key

PREDICTED = "predicted"
"""The word for a utilisation that is predicted."""
ESTIMATE = "estimate"
"""The word for a goodput that is estimated."""
DATA = "data"
"""The word for attention whose requests are distributed over the GPUs of a replica."""
PAIR = 2
"""Servers that are joined port to port where the plan has no compute fabric."""
COUNTED, LEFT_OUT = "counted", "left_out"
ACTIVATIONS, OPTIMIZER = "activations", "optimizer"
"""Parts of the training state that may be kept in host memory."""
COMPUTE = "compute"
STORAGE = "storage"
IN_BAND = "in_band"
OUT_OF_BAND = "out_of_band"
REDUNDANT = (STORAGE, IN_BAND)
"""Roles of fabrics that every machine keeps when a leaf fails."""
ROLES = (COMPUTE, STORAGE, IN_BAND, OUT_OF_BAND)


SWITCHES, PDUS = "switches", "PDUs"
MANAGED = (SWITCHES, PDUS)
"""Names of the hosts that an out-of-band fabric connects by itself."""
RACK_KINDS = ("compute", "management")
"""Racks of servers, and of everything else."""
FREE_RACK = "free"
"""The kind of a rack on the floor in addition to those that were counted."""
IN_USE, SPARE = "/server", "/spare"
"""Kinds of installed machines besides those that `switches_of` and the names of hosts give."""


def switches_of(fabric: str, tier: str) -> str:
    """Return the kind of installed machine that the switches of a tier are."""
    return f"{fabric}/{tier}"


class Parallelism(NamedTuple):
    """The parallelism of a training run, as set by the user."""

    tensor: Key[Figure]
    pipeline: Key[Figure]
    interleave: Key[Figure]
    context: Key[Figure]
    expert: Key[Figure]
    sequence_parallel: Key[Figure]
    """Word: yes or no; without tensor parallelism it has no effect."""
    mark: Mark

    @property
    def splits_sequence(self) -> bool:
        """Return whether tensor-parallel GPUs split the rest of a layer along the sequence."""
        return bool(self.tensor.value > 1 and self.sequence_parallel.value == "yes")


class Tuning(NamedTuple):
    """The fine-tuning of a model."""

    method: Key[Figure]
    """full, lora or qlora."""
    rank: Key[Figure]
    modules: tuple[str, ...] | None
    """The matrices that get an adapter; None: all of attention and feed-forward."""
    modules_mark: Mark
    frozen_flops_per_parameter_token: Figure


class OwnStep(NamedTuple):
    """A step that the user measured, and its parallelism."""

    gpus: Key[Figure]
    tensor: Key[Figure]
    pipeline: Key[Figure]
    interleave: Key[Figure]
    context: Key[Figure]
    expert: Key[Figure]
    step: Key[Figure]
    """Duration [days]."""


class Training(NamedTuple):
    """A training run. Exactly one of `mfu`, `achieved_tflops` and `tokens_per_second_per_gpu` is set.

    Where the utilisation is to be predicted, `mfu` is the assumption until then.
    """

    mark: Mark
    model: parts.Model
    tokens: Figure
    epochs: Key[Figure]
    target_days: Key[Figure | None]
    precision: Key[Figure]
    mfu: Figure | None
    achieved_tflops: Key[Figure | None]
    tokens_per_second_per_gpu: Key[Figure | None]
    attention: Key[Figure]
    embedding: Key[Figure]
    """Word: whether the input embedding counts in model FLOPs, COUNTED or LEFT_OUT."""
    recompute: Key[Figure]
    """Word: none, selective, full; or auto, the lowest of them that fits."""
    flash_attention: Figure
    """Word, yes or no: whether attention scores are never stored but recomputed in the backward pass."""
    parallel_efficiency: Key[Figure]
    goodput: Figure
    """A share; or the word `estimate`: derived from the interruptions of a cluster of that size."""
    sequence: Figure | None
    micro_batch: Key[Figure]
    batch_tokens: Key[Figure]
    """Tokens per optimizer step over the whole cluster."""
    optimizer: Key[Figure]
    gradient_precision: Figure
    """Word: fp32, bf16; or none, where each gradient is freed as soon as its weight is updated."""
    zero: Figure
    parallelism: Parallelism | None
    """The parallelism; None: found by the program."""
    flops_per_parameter_token: Figure
    recompute_flops_per_parameter_token: Figure
    published_runs: Callable[[], tuple[parts.PublishedRun, ...]] = tuple
    """The published runs, read on demand."""
    predicted: Figure | None = None
    """Word: the utilisation is to be predicted; None: it is given, measured or assumed."""
    stack: Key[Figure | None] = None
    """Word: software of the prediction; None: the newest known for the accelerator."""
    measured: tuple[OwnStep, ...] = ()
    network: Figure | None = None
    """Network bandwidth per GPU where the plan has no compute fabric [Gb/s], for the prediction."""
    tuning: Tuning | None = None
    """The fine-tuning; None: pre-training, or another run that trains every weight from scratch."""
    offload: Key[tuple[str, ...]] = ()
    """State kept in host memory: ACTIVATIONS, OPTIMIZER."""
    master_weights: Key[Figure | None] = None
    """Word, yes or no: whether the optimizer keeps fp32 copies of narrower weights; None: yes."""
    activation_fusion: Key[Figure | None] = None
    """Word, yes or no: whether a gated MLP recomputes its activation function in the backward pass; None: yes."""
    block: str = "training"
    """The block of the plan, below `workload`."""


class Degrees(NamedTuple):
    """The parallelism degrees of a replica of a served model, as set by the user."""

    tensor: Key[Figure]
    pipeline: Key[Figure]
    mark: Mark
    attention: Key[str] = "tensor"
    """tensor: every GPU works on all requests; DATA: on separate requests, with experts spread over all GPUs."""
    expert: Key[Figure | None] = None
    """GPUs over which the routed experts are spread; None: all with DATA attention, else none."""


class Targets(NamedTuple):
    """The latency that a served workload has to keep."""

    mark: Mark
    ttft: Key[Figure | None]
    """Time to the first token [s], kept by `percentile` of the requests."""
    tpot: Key[Figure | None]
    """Mean time per output token after the first [s]."""
    percentile: Key[Figure]
    """Share of the requests."""


class UseCase(NamedTuple):
    """Requests of one kind among those of a served workload."""

    share: Key[Figure]
    """Share of the requests."""
    prompt_tokens: Key[Figure]
    output_tokens: Key[Figure]


class OwnSpeed(NamedTuple):
    """The speed of a replica that the user measured; either time, or the tokens/s, may be missing."""

    mark: Mark
    concurrency: Key[Figure]
    prompt_tokens: Key[Figure]
    output_tokens: Key[Figure]
    tpot: Key[Figure | None]
    """Time per output token [s]."""
    ttft: Key[Figure | None]
    """Time to the first token [s]."""
    tokens_per_second_per_gpu: Key[Figure | None]


ONE_POOL, TWO_POOLS = "one", "two"
"""Whether replicas prefill and decode, or separate ones do."""


class CapacityErrors(NamedTuple):
    """How much the predicted capacity of a replica may err, as factors of the GPUs for a load."""

    low: Figure
    """At the low end of an interval of 80 %."""
    high: Figure
    unmeasured: Figure
    """At the high end where nothing alike was measured."""
    over_servers: Figure
    """Share of the capacity that counts of a split over servers where one within a server holds the model."""


class ServedAdapters(NamedTuple):
    """Adapters (LoRA) that are served on one model."""

    held: Figure
    """Adapters in the memory of a replica."""
    rank: Figure


class CacheTier(NamedTuple):
    """Where the KV cache of some prompt tokens is found outside of the GPU."""

    share: Key[Figure]
    """Share of prompt tokens."""
    bandwidth: Key[Figure | None]
    """Read bandwidth per GPU [bytes/s]; None: the PCIe rate of the GPU."""


class Inference(NamedTuple):
    """A model to be served."""

    mark: Mark
    model: parts.Model
    precision: Figure
    """Word: number format of the weights."""
    kv_precision: Key[Figure]
    """Word: number format of the KV cache."""
    context: Figure | None
    """Tokens held per request; None: the plan gives none, and the model's context is unknown."""
    concurrency: Key[Figure | None]
    """Requests in flight over the whole cluster, all of which are held in memory; None: the plan sets none."""
    batch: Key[Figure | None]
    """Most requests in flight on a replica; None: as many as it holds."""
    output_tokens: Figure | None
    """Mean output tokens per request; 0: requests of prompts alone."""
    requests_per_minute: Key[Figure | None]
    """Mean requests per minute; those of an offline batch follow from `tokens_per_day`."""
    tokens_per_second_per_gpu: Key[Figure | None]
    """Measured rate; None: predicted."""
    engine: Key[Figure]
    """Word: vllm, sglang or tensorrt-llm; it determines the memory left to the engine."""
    memory_share: Figure
    """Share of a GPU's memory that weights and KV cache may fill."""
    degrees: Degrees | None
    """The degrees; None: found by the program."""
    drafted: Figure | None = None
    """Tokens that speculative decoding drafts per step; None without it."""
    accepted: Figure | None = None
    """Mean number of drafted tokens that are accepted."""
    prompt_tokens: Figure | None = None
    """Mean tokens of a prompt; None: unknown."""
    prompt_spread: Figure | None = None
    """Standard deviation of the tokens of a prompt over their mean."""
    output_spread: Figure | None = None
    """Standard deviation of the output tokens over their mean."""
    use_cases: tuple[UseCase, ...] = ()
    """Kinds of requests; empty: all are of one kind."""
    peak: Key[Figure | None] = None
    """Requests of the busiest minute over those of a mean one."""
    tokens_per_day: Key[Figure | None] = None
    """Output tokens of an offline batch; None: requests arrive at a rate, or the plan sets no load."""
    targets: Targets | None = None
    prefix_cache: Key[Figure | None] = None
    """Share of prompt tokens that are cached on the GPU; None: none."""
    host_cache: CacheTier | None = None
    nvme_cache: CacheTier | None = None
    adapters: ServedAdapters | None = None
    prefill: Degrees | None = None
    """The degrees of replicas that only prefill; None: those of the others."""
    pools: str = "one"
    """one: replicas prefill and decode; two: separate replicas; auto: whichever needs fewer GPUs."""
    measured: tuple[OwnSpeed, ...] = ()
    headroom: Figure | None = None
    """Share of the requests that a cluster can serve in addition."""
    margin: Figure | None = None
    """Share that is bought beyond the typical need, for the error of the prediction."""
    spare_replicas: Key[Figure | None] = None
    """Replicas that stand in for failed ones."""
    capacity_errors: CapacityErrors | None = None
    network: Figure | None = None
    """Rate of the NICs of a GPU without a compute fabric [Gb/s]."""


DPO, GRPO, PPO = "dpo", "grpo", "ppo"
"""Methods: from given pairs of responses, from groups of responses, and with a critic beside the policy."""
SYNCHRONOUS, ASYNCHRONOUS = "synchronous", "asynchronous"
GATHER, RESHARD = "gather", "reshard"
"""Refits in which every GPU receives the whole model, or only the weights that it serves."""


class Experience(NamedTuple):
    """What published steps of reinforcement learning take beyond the predictions of training and serving."""

    decode: Figure
    """Host time of a decode step of an engine that a training program drives [s]."""
    update: Figure
    """Time of an update over that of a pre-training step with as many tokens."""
    log_probabilities: Figure
    """Time of a forward pass over that of a pre-training step."""
    experts: Figure
    """Time of either with routed experts, over that of a dense model."""
    spread: Figure
    """Standard deviation of the logarithm of either over its prediction."""
    refit: Figure
    """Constant time of a refit [s]."""
    refit_rate: Figure
    """Share of the network bandwidth of a GPU that a refit reaches."""


class Reinforcement(NamedTuple):
    """Reinforcement learning of a model; `Plan.training` has the updates of its policy."""

    mark: Mark
    method: Key[Figure]
    """Word: grpo, ppo or dpo."""
    reference: Key[Figure]
    """Word: whether log-probabilities of a frozen reference policy are computed, yes or no."""
    reward: parts.Model | None
    """The reward model; None: a function."""
    critic: parts.Model | None
    """The critic of ppo; None for other methods."""
    steps: Key[Figure]
    prompts: Key[Figure]
    """Prompts of a step."""
    responses: Figure
    """Responses per prompt."""
    prompt_tokens: Key[Figure]
    response_tokens: Figure
    """Mean tokens of a response."""
    response_spread: Figure
    """Standard deviation of the tokens of a response over their mean."""
    longest: Figure
    """Tokens of the longest response of a step."""
    sequence: Figure
    """Mean tokens of a prompt and a response."""
    updates: Key[Figure]
    """Optimizer steps per step."""
    target_days: Key[Figure | None]
    schedule: Key[Figure]
    """Word: SYNCHRONOUS or ASYNCHRONOUS."""
    refit: Key[Figure]
    """Word: GATHER or RESHARD."""
    generation: Inference | None
    """The engine that generates; None: responses are given."""
    pools: Key[str]
    """ONE_POOL: the same GPUs generate and train in turn; TWO_POOLS: separate ones do."""
    generation_gpus: Figure | None
    """GPUs that only generate; None: found by the program, or there is one pool."""
    experience: Experience


class Compute(NamedTuple):
    """A demand for computing power: a peak, or a volume of work. One of `target`, `gpu_hours` and `flops` is set."""

    mark: Mark
    target: Key[Figure | None]
    """Peak [FLOP/s]."""
    gpu_hours: Key[Figure | None]
    flops: Key[Figure | None]
    """Operations, at the share `mfu` of the dense peak."""
    target_days: Key[Figure | None]
    mfu: Key[Figure]
    goodput: Key[Figure]
    """Share of the time that GPUs work."""
    precision: Key[Figure]
    sparsity: Key[Figure]
    """Word: dense or sparse."""


class StorageServers(NamedTuple):
    """Storage servers, appliances or other parts of a storage system; None for missing values."""

    mark: Mark
    identity: parts.Identity
    pieces: Figure | None = None
    """Pieces bought; None: as many as capacity and bandwidth require."""
    capacity_bytes: Figure | None = None
    read: Figure | None = None
    """Read bandwidth of one server [bytes/s]."""
    write: Figure | None = None
    power_w: Figure | None = None
    rack_units: Figure | None = None
    weight_kg: Figure | None = None
    ports: Figure | None = None
    """Ports of each on a storage fabric; None: it is reached through the other parts of its system."""
    plug: Plug | None = None
    """The plug; None if unknown: assumed to be that of the GPU servers."""
    least: Figure | None = None
    """Fewest that are sold together; None: one."""
    bmc_ports: Figure | None = None
    """Management ports of each; None if unknown."""
    supplies: parts.PowerSupplies | None = None
    """Power supplies of each; None if unknown."""
    partners: tuple[parts.Partner, ...] = ()
    """The parts that complete its system."""
    back_end: parts.BackEnd | None = None
    """The switches that it shares with the other parts of its system."""
    switch_ports: Figure | None = None
    """Of such a switch: its ports; None for other parts."""
    added: bool = False
    """Whether it completes a system that the plan names only a part of."""

    @property
    def rated(self) -> bool:
        """Return whether its capacity or bandwidth is known."""
        return bool(self.capacity_bytes or self.read or self.write)


class StorageLevel(NamedTuple):
    """Bandwidth of storage at one level, as NVIDIA's SuperPOD reference architecture prints it [bytes/s]."""

    read_of_server: Figure
    """Read bandwidth of a single server."""
    write_of_server: Figure
    read_of_four_units: Figure
    """Read bandwidth of all servers of four scalable units at the same time."""
    write_of_four_units: Figure


class Storage(NamedTuple):
    """Checkpoints, data and the bandwidth for both; None for missing values."""

    mark: Mark
    given: bool
    """Whether the plan has the block; otherwise only the assumptions are set."""
    checkpoint_every: Key[Figure | None]
    """Interval [days]."""
    keep: Key[Figure]
    """Checkpoints held at a time."""
    dataset_bytes: Figure | None
    read_per_server: Key[Figure | None]
    """Read bandwidth per server [bytes/s]."""
    write_per_server: Key[Figure | None]
    """Write bandwidth per server [bytes/s]."""
    level: Key[Figure]
    """Word: good, better or best, after NVIDIA's SuperPOD; for bandwidths that the plan does not set."""
    levels: Mapping[str, StorageLevel]
    """The levels by that word."""
    unit_servers: Figure
    """Servers per scalable unit."""
    server_gpus: Figure
    """GPUs per server that reads and writes, where no server is known."""
    interruption_gpu_hours: Key[Figure]
    """GPU-hours between two interruptions."""
    interruption_range: tuple[Figure, Figure] | None
    """The extremes of the published clusters, most and fewest interruptions; None: the plan gives its value."""
    restart_days: Figure
    """Time from an interruption to the resumption of training."""
    servers: tuple[StorageServers, ...]
    """The parts of the storage system that is bought."""


class UsualNic(NamedTuple):
    """A NIC that is assumed where the plan and the catalogue name none."""

    assumed: Figure
    """Its id, as an assumption."""
    nic: parts.Nic


class Budget(NamedTuple):
    """The highest total of a quote."""

    amount: Figure
    currency: str | None
    """The code of its currency; None for that of the quote."""


class Cluster(NamedTuple):
    """The GPUs and servers that are bought. `round_up_to` is a word, or a figure of servers."""

    mark: Mark
    gpu: parts.Gpu
    server: parts.Server | None
    server_nic: parts.Nic | None
    """The server's own compute NIC, where the catalogue knows it."""
    gpus: Key[Figure | None]
    servers: Key[Figure | None]
    racks: Key[Figure | None]
    """Racks of a rack-scale system."""
    power: Key[Figure | None]
    """Most power of the site, PUE included [W], for the largest cluster that fits."""
    budget: Budget | None
    """Highest total of the quote, for the largest cluster that fits."""
    round_up_to: Figure
    spare_servers: Key[Figure | None]
    storage_nic: parts.Nic | None = None
    """The server's own NIC for storage and in-band, where the catalogue knows it."""
    usual_nics: Callable[[], tuple[UsualNic, ...]] = tuple
    """The NICs assumed for storage and in-band where the server's own are unknown, slowest first; read on demand."""
    with_cards: Callable[[Figure], parts.Server] | None = None
    """Returns the chassis with a number of cards; None: the plan or the server determines it."""

    @property
    def gpus_per_server(self) -> Figure | None:
        """Return the GPUs of a server; None: no server is known for the GPU."""
        return self.server.gpus if self.server else None

    @property
    def why_largest(self) -> str | None:
        """Return which bound the size is the largest within; None where the size is no result of one."""
        size = self.servers or self.gpus
        bound = size and (self.power or self.budget)
        return size.origin.why if bound and size and isinstance(size.origin, Assumed) else None

    @property
    def shares_cards(self) -> bool:
        """Return whether each number of GPUs may put another number of them into a server."""
        return self.gpus is not None and self.server is not None and self.server.gpu_slots is not None


class Plug(NamedTuple):
    """The plug of a machine other than a GPU server on a fabric."""

    cage: str
    ports_per_cage: Figure
    port_gbps: Figure | None
    """The rate; None: that of the links of the fabric."""


class Hosts(NamedTuple):
    """Identical machines on a fabric other than the GPU servers."""

    name: Key[str]
    pieces: Figure
    """Number of machines."""
    ports: Key[Figure]
    """Ports of each on the fabric, over all planes."""
    part: parts.Appliance | None = None
    """The part bought for each; None: it exists, or is billed elsewhere."""
    plug: Plug | None = None
    """The plug; None if unknown: assumed to be that of the servers."""
    leaves_of: str | None = None
    """The fabric whose topmost switches they are."""
    managed: str | None = None
    """Which of `MANAGED` they are: machines of other fabrics that this one connects by itself."""
    link: LinkSpec | None = None
    """The settings of their links; None: those of the fabric."""
    customers: bool = False
    """Whether they are the customer's switch that uplinks lead to, which this cluster does not manage."""
    modules_offered: bool = True
    """Whether the modules at their end are on the bill."""
    nic: parts.Nic | None = None
    """The NIC bought for them on the fabric; None: they have their own."""
    nics: Figure | None = None
    """Such NICs of each."""


class ServerGroup(NamedTuple):
    """Servers of another kind that join fabrics of the cluster; each has its own NICs."""

    name: str
    cluster: Cluster
    servers: Figure
    fabrics: tuple[str, ...]
    """Names of the fabrics; empty: all."""
    sized: bool = False
    """Whether they process the prompts of a served model, whose load determines their number."""


class Uplink(NamedTuple):
    """Links of a fabric's topmost switches into another fabric."""

    fabric: str
    ports: Figure
    """Links per switch."""
    mark: Mark


class FabricPlan(NamedTuple):
    """One fabric of the plan."""

    name: str
    mark: Mark
    role: str
    topology: Key[Figure]
    nic: parts.Nic | None
    """A NIC that is bought; None: the server's built-in one."""
    gpus_per_nic: Key[Figure | None]
    ports_per_server: Key[Figure | None]
    link_gbps: Figure | None
    tiers: Key[Figure | None]
    """Switch tiers; None: as few as fit."""
    oversubscription: Figure
    spine_oversubscription: Figure
    scalable_unit: Figure | None
    rails_per_leaf: Key[Figure | None]
    """Rails per leaf; None: as many as give the lowest switch count."""
    split_servers: bool | None
    """Whether the ports of a server may connect to several leaves; None: only if it has too many for one in eight."""
    build_out: Key[Figure]
    tier_plans: Mapping[str, TierChoice]
    """Fixed values by leaf, spine and core."""
    pod_leaves: Figure | None
    pod_rails: Figure
    """A word: whether a pod holds leaves of one rail or of all, where leaves belong to rails."""
    homing: Figure
    """A word: the distribution of a machine's ports over the switches."""
    homing_asked: bool
    """Whether the homing applies at any switch count; otherwise only where it adds no switch."""
    peer_links: Key[Figure | None]
    """Links per pair of switches of a mesh; None: as many as the ratio needs."""
    allow_islands: Key[bool]
    """Whether pods without a core connecting them are intended."""
    planes: Key[Figure]
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
    """The declaration of its topology."""
    options: Mapping[str, Figure | tuple[Figure, ...]]
    """The options under the name of the topology."""
    host_cage: Figure
    """Word: the cage of machines other than GPU servers whose cage is unknown."""
    otherwise: FabricPlan | None = None
    """Another form of the same fabric; the one with fewer switches is built, unless it is for a number of servers."""
    otherwise_up_to: int | None = None
    """Most servers that the other form is for; None: it is compared."""
    switch_by_default: Figure | None = None
    """Word: the switch that the default for the platform chooses; None: the plan names it."""
    fitting_switches: tuple[str, ...] = ()
    """Of a compute fabric: ids of switches of that default and its alternatives."""
    carried: tuple[str, ...] = ()
    """Names of the plan's other fabrics whose traffic is on this one."""
    least_servers: Figure | None = None
    """Servers from which a default compute fabric is built; None: always."""

    def with_hosts(self, change: Callable[[tuple[Hosts, ...]], tuple[Hosts, ...]]) -> FabricPlan:
        """Return the fabric, and its other forms, with other machines."""
        otherwise = self.otherwise and self.otherwise.with_hosts(change)
        return self._replace(hosts=change(self.hosts), otherwise=otherwise)

    @property
    def switchless(self) -> bool:
        """Return whether the topology connects nodes directly, without switches."""
        return self.declared.switchless

    @property
    def attaches_servers(self) -> bool:
        """Return whether it has links to the NICs of servers."""
        return not self.switchless or self.declared.cabled

    @property
    def special_servers(self) -> int:
        """Return the most servers for which a default has another form, or is not built."""
        below = self.otherwise.special_servers if self.otherwise else 0
        return max(self.otherwise_up_to or 0, below, int(self.least_servers.value) - 1 if self.least_servers else 0)

    @property
    def populate_used_ports_only(self) -> bool:
        """Return whether unused ports have no module and no cable."""
        return bool(self.build_out.value == "exact")


class Layout(NamedTuple):
    """The positions of racks, and the routes of cables between them."""

    mark: Mark
    given: bool
    """Whether the plan has the block: cable lengths then follow the route, else the link's setting."""
    rows: tuple[tuple[tuple[str, Figure], ...], ...] | None
    """The racks of every row, kind by kind; None: derived."""
    racks_per_row: Key[Figure]
    unit_m: Figure
    """Height of a rack unit."""
    rack_pitch_m: Figure
    row_pitch_m: Figure
    tray_m: Figure
    """Distance from the top of a rack to the tray."""
    slack_m: Figure
    """Slack at either end of a cable."""


Place = tuple[int, int]
"""The number of a rack over all rows, from 1, and the lowest unit of a machine in it, 0 if unknown."""


CableEnds = tuple[int, str, int, int, str, int, int]
"""The number of a link, and port, cage and lane at its lower and its upper end."""


class Installed(NamedTuple):
    """What stands already, so that a plan that grows leaves it there."""

    rows: tuple[tuple[tuple[str, int], ...], ...]
    """The racks of every row, kind by kind."""
    places: Mapping[str, Mapping[int, Place]]
    """The places of the plan's machines that are installed, by kind of machine and number in it, from 0."""
    digits: Mapping[str, int] = {}
    """Digits of the numbers in device names, by name prefix."""
    names: Mapping[str, tuple[str, ...]] = {}
    """Names of devices by prefix, where a growth has put them out of order; only while the plan is unchanged."""
    labels: tuple[tuple[str, int], ...] = ()
    """Labels of the cables in their order: a label, and how many are numbered on from it; likewise."""
    ends: tuple[CableEnds, ...] = ()
    """The links that a growth has left in other ports than the plan alone would; likewise."""

    @property
    def racks(self) -> list[tuple[int, int, str]]:
        """Return row, position in the row from 0, and kind of every rack."""
        return [
            (row, position, kind)
            for row, runs in enumerate(self.rows, start=1)
            for position, kind in enumerate(kind for kind, racks in runs for _ in range(racks))
        ]

    def count(self, kind: str) -> int:
        """Return the number of racks of a kind."""
        return sum(racks for row in self.rows for of_run, racks in row if of_run == kind)


class Site(NamedTuple):
    """Racks, power and its price."""

    mark: Mark
    rack_units: Figure
    rack_power_w: Figure
    allow_overload: Key[bool]
    """Whether racks may exceed their height, load, power or cooling limit, with a warning instead of an error."""
    pdus_per_rack: Figure
    """PDUs per rack; 0 for a rack-scale system, which comes with its power supply."""
    servers_per_rack: Key[Figure | None]
    racks: Key[Figure | None]
    """Most racks; None: no limit."""
    management_racks: Figure | None
    """Racks of all other machines; 0: they stand in those of the servers. None: as many as they need."""
    shared_racks: Figure | None
    """Most racks of servers that other machines share by themselves; None: the plan describes management racks."""
    management_pdus: Figure
    management_power_w: Figure
    """Power limit of a management rack."""
    rack: parts.Rack | None
    """The rack; None: any rack of that height."""
    rack_cooling_w: Figure | None
    """Heat that can be removed from a rack."""
    pdu: parts.Pdu | None
    """PDU of compute racks; None: any."""
    management_pdu: parts.Pdu | None
    feeds: Key[Figure | None]
    """Power feeds; None: as many as a compute rack has PDUs, times `feeds_per_pdu`."""
    feeds_per_pdu: Figure
    redundancy: Key[Figure]
    """Word: n, n+1 or 2n."""
    pue: Key[Figure | None]
    electricity: Key[Figure | None]
    carbon: Key[Figure | None]
    """Carbon intensity [kg CO2e per kWh]."""
    layout: Layout
    installed: Installed | None = None
    """What stands already; None: nothing is known to, or the plan has no layout."""


class Phase(NamedTuple):
    """One of several orders in which a plan is built."""

    name: Key[str]
    date: Key[str | None]
    ahead: Key[tuple[str, ...]]
    """Paths of the tiers that are bought in the number of the last phase."""
    mark: Mark


class Plan(NamedTuple):
    """A plan with every part resolved."""

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
    """Spares by category: a share below 1 in unit `share`, or pieces in unit `count`."""
    quote: QuotePlan
    stock: Mapping[str, Figure]
    """The customer's stock in pieces, by catalogue id or part number in lower case."""
    existing: Mapping[str, Figure]
    """Pieces that the customer has in use, by the same names; nothing of them is offered."""
    scope: tuple[str, ...] | None
    """Categories that are offered; None: all."""
    operation: Operation | None
    optics: Figure
    """Word: the vendor of modules and cables that is preferred."""
    templates: tuple[tuple[str, Mark], ...] = ()
    """Paths of the user's templates, each with its place."""
    cluster_name: str = ""
    """Name of the cluster among several of one plan; empty where there is one."""
    complete_order: bool = True
    """Whether parts that others require, and that leave no choice, are added to the bill."""
    reinforcement: Reinforcement | None = None
    """Reinforcement learning, whose updates are `training`."""
    left_out: tuple[FabricPlan, ...] = ()
    """Default fabrics that so few servers do not need."""
    no_compute: Mark | None = None
    """Where the plan says that there is no compute fabric."""
    pair: FabricPlan | None = None
    """The links that join two servers then; None where they cannot be joined."""
    groups: tuple[ServerGroup, ...] = ()
    """Servers of other kinds on the fabrics."""
    phases: tuple[Phase, ...] = ()
    """The orders in which it is built, if there are several."""
    digits: Mapping[str, int] = {}
    """Digits of the numbers in device names, by the prefix of the name; without a lock file, those of the largest."""
    installed: Installed | None = None
    """What stands already; None: nothing is known to."""

    def servers_of_groups(self, fabric: str) -> int:
        """Return the servers of all groups on a fabric, beside those of the cluster."""
        groups = (group for group in self.groups if not group.fabrics or fabric in group.fabrics)
        return int(sum(group.servers.value for group in groups))

    @property
    def laid_out(self) -> bool:
        """Return whether the plan says how its racks stand."""
        return self.site is not None and self.site.layout.given

    @property
    def prefill_servers(self) -> ServerGroup | None:
        """Return the servers with another GPU that process the prompts of its served model; None: there are none."""
        return next((group for group in self.groups if group.sized), None)
