"""The terms of a training step: each the seconds of one kind of work at line rate.

Matrix products run at the peak of the GPU, memory traffic at its bandwidth, collectives at the bandwidth of the links
between their GPUs. The time of a step is the sum of the terms, each times an inverse efficiency, the prediction
coefficient that is fitted to published measurements. `docs/prediction.md` describes the terms.

The formulas work on single numbers, on NumPy arrays and on figures alike, with the same operations in the same order: a
search over thousands of splits, a plan and its explanation get the same number.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar

from bomgen.core.provenance import Figure, Formula, formula, product, sum_of

Number = TypeVar("Number")
"""A float, a NumPy array or a figure."""
Apply = Callable[..., Any]
"""Applies a formula to its arguments."""

BYTES = 2
"""Bytes of an activation or a gathered weight: 16 bits, whatever the precision of the matrix products."""
GRADIENT_BYTES = 4
LOGIT_BYTES = 40
"""Bytes read and written per logit by the loss.

It is 16 bits five times around the matrix products and casts, 32 bits about eight times by a softmax of several kernels
and its gradient.
"""
QUANTISING_BYTES = 4
"""Bytes read and written to quantise an element: its 16 bits, and 8 bits along its rows and along its columns."""
PERMUTATIONS = 4
"""Reads and writes of the tokens that are sorted by expert, and of what the experts return, in a pass."""
UPDATE_BYTES = 30
"""Bytes read and written by the optimizer per parameter: gradient, moments and master weight in 32 bits, the weight."""
EXCHANGES = 4
"""All-reduces of a layer, or round trips to experts: two forward and two backward."""
PASSES = 3
"""Forward once, backward twice the forward."""
NARROW_WIDTH = 1024
"""Width of a matrix product at which the narrow term is as large as the matrix product."""
HIDDEN_TRAFFIC = 8
"""Reads and writes of the hidden state per layer outside of matrix products: norms, residuals, dropout."""
SCORE_TRAFFIC = 4
"""Reads and writes of the score matrix per pass without FlashAttention, which keeps it on the chip."""
DRAWS = (1, 2, 4, 8, 16)
"""Binary digits of the number of experts of a token."""
LINK_HOP_S = 3.4e-6
NETWORK_HOP_S = 9.6e-6
"""Latency of a hop of a ring in a scale-up domain and over the network [s].

NCCL 2.8, src/graph/tuning.cc, rings of the simple protocol.
"""
LAUNCH_S = 600e-6
"""Time for the host to start the kernels of a layer in a pass: some fifty kernels of 12 us [s]."""
ADAPTER_LAUNCH_S = 48e-6
"""Time for the host to start the kernels of an adapter in a pass: two products, scaling and sum [s]."""
ROUTING_S = 200e-6
"""Unit of the time of a layer in a pass to route tokens to experts, besides their exchange [s]."""
CONSTANT_S = 0.01
"""Unit of the constants of a step [s]."""


class Work(NamedTuple, Generic[Number]):
    """The work of a model for a token of a sequence, in all its layers."""

    layers: Number
    hidden: Number
    sequence: Number
    weights: Number
    """Multiply-adds with weights that every token passes."""
    split_width: Number
    """Elements per token between the matrices, besides the hidden state."""
    products: Number
    """Multiply-adds of causal attention."""
    scores: Number
    """Elements of the score matrix."""
    kv_width: Number
    """Elements of keys and values."""
    head: Number
    """Multiply-adds of the output projection."""
    parameters: Number
    """Stored weights without those of routed experts."""
    expert_weights: Number
    """Multiply-adds with routed experts."""
    expert_parameters: Number
    expert_width: Number
    expert_layers: Number
    experts: Number
    """Experts; 1 for a dense model, as for all of these that divide."""
    topk: Number
    trained: Number
    """Share of the weights that the run trains: 1, or with frozen weights that of the adapters."""
    adapted: Number
    """Matrices with an adapter that a token passes."""
    stored_weight: Number
    """Bytes of a stored weight: 2, or fewer if the weights are quantised."""


class Machine(NamedTuple, Generic[Number]):
    """The line rates of a GPU and its links."""

    peak: Number
    """Dense, at the precision of the run [FLOP/s]."""
    plain_peak: Number
    """Dense, at 16 bits, for attention and the output projection [FLOP/s]."""
    memory_bandwidth: Number
    """Memory bandwidth [bytes/s]."""
    scale_up: Number
    """Scale-up bandwidth to the GPUs of the domain, one way [bytes/s]."""
    network: Number
    """Bandwidth of the NICs, one way [bytes/s]."""
    domain: Number
    """GPUs that scale-up links connect."""
    attention_share: Number
    """Published share of the 16-bit peak that the attention kernel reaches on such a GPU."""


class Split(NamedTuple, Generic[Number]):
    """The split of a step over GPUs, and its settings."""

    batch: Number
    """Sequences of a step."""
    micro_batch: Number
    tensor: Number
    pipeline: Number
    interleave: Number
    data: Number
    context: Number
    expert: Number
    """GPUs over which the experts of a layer are spread."""
    gathers: Number
    """Collectives of all weights per micro-batch: 3 with ZeRO 3, 1 with ZeRO 2, else 0."""
    messages: Number
    """Collectives that each of these is split into per layer."""
    sharded: Number
    """1: optimizer states are sharded over replicas; else 0."""
    recompute: Number
    """Share of the forward pass that is repeated."""
    attention_recompute: Number
    """1: attention is repeated in the backward pass; else 0."""
    flash: Number
    """1: FlashAttention; else 0."""
    sequence_parallel: Number
    """1 or 0."""
    overlapped: Number
    """1: collectives of replicas overlap matrix products; else 0."""
    sent_once: Number
    """1: a token is sent once to a GPU that has several of its experts; 0: once per expert."""
    exchange_overlapped: Number
    """1: the exchange with experts of a micro-batch overlaps the compute of another; else 0."""


class Terms(NamedTuple, Generic[Number]):
    """Seconds of each kind of work: at line rate, or of a step, times their inverse efficiencies."""

    matrix: Number
    experts: Number
    narrow: Number
    short: Number
    head: Number
    logits: Number
    attention: Number
    memory: Number
    scores: Number
    weights: Number
    update: Number
    launches: Number
    routing: Number
    permutation: Number
    quantisation: Number
    tensor: Number
    tensor_network: Number
    context: Number
    pipeline: Number
    data: Number
    data_overlapped: Number
    gathers: Number
    gathers_overlapped: Number
    exchange: Number
    exchange_network: Number
    exchange_overlapped: Number
    constant: Number
    constant_network: Number


HIDING = ("matrix", "experts", "attention", "memory", "scores")
"""Terms whose kernels hide others."""
HIDDEN = ("launches", "exchange_overlapped")
"""Terms that are hidden.

What is hidden never takes longer than the kernel that hides it: otherwise a slower GPU could have the faster step.
"""


def lesser(one: float, other: float) -> float:
    """Return the lesser of two numbers, or of two arrays element by element."""
    return (one <= other) * one + (one > other) * other


def greater(one: float, other: float) -> float:
    """Return the greater of two numbers, or of two arrays element by element."""
    return (one >= other) * one + (one < other) * other


def missed(places: float, draws: float) -> float:
    """Return the probability that none of up to 31 draws hits one of a number of places.

    By squaring, since the powers of NumPy and of Python differ in the last bit.
    """
    none, power = 1.0, 1 - 1 / places
    for digit in DRAWS:
        none, power = none * (1 + draws // digit % 2 * (power - 1)), power * power
    return none


# what the terms have in common ---------------------------------------------------------------------------------------


@formula("micro-batches")
def micro_batches(sequences: float, data: float, micro_batch: float) -> float:
    """Micro-batches of a replica in a step."""
    return -(-sequences // (data * micro_batch))


@formula("slots", "Narayanan et al. 2021, arXiv 2104.04473, section 2.2: the pipeline bubble with interleaved stages")
def slots(micro_batches: float, pipeline: float, interleave: float) -> float:
    """Duration of a step in micro-batches, including the pipeline bubble."""
    return micro_batches + (pipeline - 1) / interleave


@formula("tokens")
def tokens_of_gpu(micro_batch: float, sequence: float, context: float) -> float:
    """Tokens per micro-batch and GPU."""
    return micro_batch * sequence / context


@formula("share")
def share_of_stage(layers: float, pipeline: float) -> float:
    """Share of the layers in the fullest pipeline stage."""
    return -(-layers // pipeline) / layers


@formula("passes")
def passes(recompute: float) -> float:
    """Compute per step in forward passes, with recomputation."""
    return PASSES + recompute


@formula("passes")
def matrix_passes(recompute: float, trained: float) -> float:
    """Matrix products per step in forward passes; frozen weights have no gradients."""
    return PASSES - 1 + trained + recompute


@formula("count")
def collectives_of_weights(gathers: float, trained: float, stored_weight: float) -> float:
    """Collectives per micro-batch in those of all weights at 16 bits: gathers, and the reduce-scatter of gradients."""
    return (gathers > 0) * ((gathers - 1) * stored_weight / BYTES + trained)


@formula("parameters")
def parameters_of_gpu(
    parameters: float, expert_parameters: float, tensor: float, pipeline: float, expert: float
) -> float:
    """Weights per GPU."""
    return (parameters / tensor + expert_parameters / expert) / pipeline


@formula("bytes/s")
def bandwidth_of_neighbours(size: float, scale_up: float, network: float, domain: float) -> float:
    """Bandwidth per GPU of a ring through `size` adjacent GPUs."""
    return (size <= domain) * scale_up + (size > domain) * lesser(scale_up, network * lesser(size, domain))


@formula("bytes/s")
def bandwidth_of_group(size: float, inner: float, scale_up: float, network: float, domain: float) -> float:
    """Bandwidth per GPU of a ring through `size` GPUs that are `inner` apart.

    A ring that leaves a scale-up domain enters and leaves it through the NICs of all its GPUs there.
    """
    return (size * inner <= domain) * scale_up + (size * inner > domain) * lesser(
        scale_up, network * greater(1.0, lesser(size, domain / inner))
    )


@formula("GPUs")
def neighbours_in_domain(domain: float, inner: float) -> float:
    """GPUs of a group in one scale-up domain, where they are `inner` apart."""
    return greater(1.0, domain / inner)


@formula("count")
def domains_of_ring(size: float, neighbours: float) -> float:
    """Scale-up domains that a ring through `size` GPUs spans."""
    return size / lesser(size, neighbours)


@formula("s", "NCCL 2.8, src/graph/tuning.cc: a hop per GPU, those between domains over the network")
def ring_latency(size: float, domains: float) -> float:
    """Time of an empty message for one round of a ring through `size` GPUs."""
    return LINK_HOP_S * (size - domains) + NETWORK_HOP_S * (domains - 1)


@formula("bytes/s")
def bandwidth_of_stages(gpus: float, scale_up: float, network: float, domain: float) -> float:
    """Bandwidth per GPU between pipeline stages, which share a scale-up domain only if all GPUs do."""
    return (gpus <= domain) * scale_up + (gpus > domain) * lesser(scale_up, network)


# terms ---------------------------------------------------------------------------------------------------------------


@formula("s", "Kaplan et al. 2020, arXiv 2001.08361: 2 FLOPs a multiply-add, three passes")
def matrix_seconds(
    weights: float, tokens: float, share: float, passes: float, slots: float, tensor: float, peak: float
) -> float:
    """Matrix products with the weights that process every token (no routed experts)."""
    return 2 * weights * share / tensor * tokens * passes * slots / peak


@formula("s")
def narrow_seconds(
    matrix_seconds: float, expert_seconds: float, tensor: float, hidden: float, expert_width: float
) -> float:
    """Efficiency loss of matrix products whose width per GPU is small: hidden / tensor, or the expert width."""
    return NARROW_WIDTH * (matrix_seconds * tensor / hidden + expert_seconds / expert_width)


@formula("s")
def short_seconds(
    matrix_seconds: float,
    expert_seconds: float,
    tokens: float,
    tensor: float,
    expert: float,
    topk: float,
    experts: float,
) -> float:
    """Efficiency loss of matrix products with few tokens per micro-batch and GPU, or per expert."""
    return NARROW_WIDTH * (matrix_seconds + expert_seconds * experts * tensor / (topk * expert)) / tokens


@formula("s")
def head_seconds(
    head: float, tokens: float, trained: float, micro_batches: float, tensor: float, plain_peak: float
) -> float:
    """Matrix product of the output projection, on the last pipeline stage only."""
    return 2 * (PASSES - 1 + trained) * head / tensor * tokens * micro_batches / plain_peak


@formula("s")
def logit_seconds(
    head: float, hidden: float, tokens: float, micro_batches: float, tensor: float, memory_bandwidth: float
) -> float:
    """Memory traffic of the loss, which reads and writes one logit per token and vocabulary entry."""
    return LOGIT_BYTES * head / hidden / tensor * tokens * micro_batches / memory_bandwidth


@formula("s", "Dao 2023, arXiv 2307.08691: half a forward pass more; Korthikanti et al. 2022, arXiv 2205.05198")
def attention_seconds(
    products: float,
    tokens: float,
    share: float,
    slots: float,
    tensor: float,
    flash: float,
    attention_recompute: float,
    plain_peak: float,
    attention_share: float,
) -> float:
    """Attention scores and their product with the values; without FlashAttention the masked half is computed too."""
    return (
        2
        * products
        * (2 - flash)
        * (PASSES + attention_recompute + flash / 2)
        * share
        / tensor
        * tokens
        * slots
        / (plain_peak * attention_share)
    )


@formula("s")
def memory_seconds(
    split_width: float,
    hidden: float,
    layers: float,
    tokens: float,
    share: float,
    passes: float,
    slots: float,
    tensor: float,
    sequence_parallel: float,
    memory_bandwidth: float,
) -> float:
    """Memory traffic of activations; only sequence parallelism splits the hidden state.

    Gradients of weights are the third pass: they read, and in 8 bits cast, the inputs again.
    """
    return (
        BYTES
        * (
            split_width / tensor
            + HIDDEN_TRAFFIC * hidden * layers * (sequence_parallel / tensor + 1 - sequence_parallel)
        )
        * share
        * tokens
        * passes
        * slots
        / memory_bandwidth
    )


@formula("s")
def score_seconds(
    scores: float,
    tokens: float,
    share: float,
    slots: float,
    tensor: float,
    flash: float,
    attention_recompute: float,
    memory_bandwidth: float,
) -> float:
    """Memory traffic of the score matrices; none with FlashAttention."""
    return (
        (1 - flash)
        * SCORE_TRAFFIC
        * BYTES
        * scores
        * (PASSES + attention_recompute)
        * share
        / tensor
        * tokens
        * slots
        / memory_bandwidth
    )


@formula("s")
def weight_seconds(
    parameters: float,
    passes: float,
    trained: float,
    stored_weight: float,
    micro_batches: float,
    memory_bandwidth: float,
) -> float:
    """Memory traffic of weights and gradients, per micro-batch; quantised weights are restored to 16 bits each pass."""
    return (
        parameters
        * ((BYTES + (stored_weight < BYTES) * (stored_weight + BYTES)) * passes + 2 * GRADIENT_BYTES * trained)
        * micro_batches
        / memory_bandwidth
    )


@formula("s")
def update_seconds(parameters: float, sharded: float, data: float, context: float, memory_bandwidth: float) -> float:
    """Memory traffic of the optimizer step, on a share of the weights if its states are sharded."""
    return UPDATE_BYTES * parameters * (sharded / (data * context) + 1 - sharded) / memory_bandwidth


@formula("s")
def launch_seconds(
    layers: float,
    adapted: float,
    share: float,
    passes: float,
    slots: float,
    matrix_seconds: float,
    expert_seconds: float,
    attention_seconds: float,
    memory_seconds: float,
    score_seconds: float,
) -> float:
    """Kernel launches of the host that the GPU waits for."""
    return greater(
        0.0,
        (LAUNCH_S * layers + ADAPTER_LAUNCH_S * adapted) * share * passes * slots
        - (matrix_seconds + expert_seconds + attention_seconds + memory_seconds + score_seconds),
    )


@formula("s")
def routing_seconds(expert_layers: float, share: float, passes: float, slots: float) -> float:
    """Unit of the fitted time for routing tokens to experts."""
    return ROUTING_S * expert_layers * share * passes * slots


@formula("s")
def permutation_seconds(
    hidden: float,
    topk: float,
    expert_layers: float,
    tokens: float,
    share: float,
    passes: float,
    slots: float,
    tensor: float,
    memory_bandwidth: float,
) -> float:
    """Memory traffic of tokens that are copied for each of their experts, sorted by expert, and summed again."""
    return (
        PERMUTATIONS
        * BYTES
        * hidden
        * topk
        * expert_layers
        * share
        * tokens
        * passes
        * slots
        / tensor
        / memory_bandwidth
    )


@formula("s")
def quantisation_seconds(
    split_width: float,
    hidden: float,
    layers: float,
    topk: float,
    expert_layers: float,
    tokens: float,
    share: float,
    passes: float,
    slots: float,
    tensor: float,
    peak: float,
    plain_peak: float,
    memory_bandwidth: float,
) -> float:
    """Memory traffic of the quantisation of activations and their gradients; none at 16 bits."""
    return (
        (peak > plain_peak)
        * QUANTISING_BYTES
        * (split_width + hidden * (2 * layers + topk * expert_layers))
        / tensor
        * share
        * tokens
        * passes
        * slots
        / memory_bandwidth
    )


@formula("s", "Korthikanti et al. 2022, arXiv 2205.05198, section 4.2: two all-reduces a layer and direction")
def tensor_seconds(
    hidden: float,
    layers: float,
    tokens: float,
    share: float,
    recompute: float,
    slots: float,
    tensor: float,
    link_bandwidth: float,
    latency: float,
) -> float:
    """All-reduces of tensor parallelism, each with two rounds of the ring."""
    return (
        2
        * layers
        * (EXCHANGES + 2 * recompute)
        * share
        * slots
        * ((tensor - 1) / tensor * BYTES * hidden * tokens / link_bandwidth + latency)
    )


@formula("s")
def inside(seconds: float, size: float, domain: float) -> float:
    """Time of a collective whose GPUs share one scale-up domain, else 0."""
    return seconds * (size <= domain)


@formula("s")
def outside(seconds: float, size: float, domain: float) -> float:
    """Time of a collective whose GPUs are in several scale-up domains, else 0."""
    return seconds * (size > domain)


@formula("s")
def context_seconds(
    kv_width: float,
    tokens: float,
    share: float,
    passes: float,
    slots: float,
    tensor: float,
    context: float,
    link_bandwidth: float,
) -> float:
    """Keys, values and their gradients that context parallelism sends around its ring."""
    return (context - 1) * BYTES * kv_width / tensor * share * tokens * passes * slots / link_bandwidth


@formula("s")
def pipeline_seconds(
    hidden: float,
    tokens: float,
    micro_batches: float,
    tensor: float,
    pipeline: float,
    interleave: float,
    sequence_parallel: float,
    link_bandwidth: float,
) -> float:
    """Activations and gradients sent between pipeline stages."""
    return (
        (pipeline > 1)
        * 2
        * BYTES
        * hidden
        * (sequence_parallel / tensor + 1 - sequence_parallel)
        * tokens
        * interleave
        * micro_batches
        / link_bandwidth
    )


@formula("s")
def data_seconds(
    parameters: float, tensor: float, pipeline: float, replicas: float, gathers: float, link_bandwidth: float
) -> float:
    """All-reduce of gradients among replicas; 0 if each micro-batch gathers weights."""
    return (
        (gathers == 0)
        * 2
        * (replicas - 1)
        / replicas
        * GRADIENT_BYTES
        * parameters
        / (tensor * pipeline)
        / link_bandwidth
    )


@formula("GPUs")
def expert_replicas(data: float, context: float, tensor: float, expert: float) -> float:
    """Replicas of each expert."""
    return greater(1.0, data * context * tensor / expert)


@formula("s")
def gather_seconds(
    gathers: float,
    parameters: float,
    replicas: float,
    micro_batches: float,
    messages: float,
    layers: float,
    share: float,
    link_bandwidth: float,
    latency: float,
) -> float:
    """All-gather of weights and reduce-scatter of gradients per micro-batch, one round of the ring each."""
    return (
        gathers
        * micro_batches
        * (BYTES * parameters * (replicas - 1) / replicas / link_bandwidth + messages * layers * share * latency)
    )


@formula("bytes")
def exchanged_bytes(
    hidden: float,
    expert_layers: float,
    tokens: float,
    share: float,
    recompute: float,
    slots: float,
    tensor: float,
) -> float:
    """Bytes per GPU of one copy of each token, sent to an expert and back, forward and backward."""
    return (EXCHANGES + 2 * recompute) * BYTES * hidden * expert_layers * share * tokens / tensor * slots


@formula("count")
def domains_of_experts(expert: float, domain: float) -> float:
    """Scale-up domains over which the experts of a layer are spread."""
    return greater(1.0, expert / domain)


@formula("count", "with DeepEP also those from other domains, which one of its GPUs receives and passes on")
def copies_inside(topk: float, expert: float, domain: float, sent_once: float) -> float:
    """Copies of a token that cross the links of a scale-up domain to experts; experts are drawn independently."""
    return (
        sent_once * (expert - 1) * (1 - missed(expert, topk))
        + (1 - sent_once) * topk * (lesser(expert, domain) - 1) / expert
    )


@formula("count", "DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.2: with DeepEP a token crosses once per domain")
def copies_outside(topk: float, domains: float, sent_once: float) -> float:
    """Copies of a token that cross the network to experts in other scale-up domains."""
    return sent_once * (domains - 1) * (1 - missed(domains, topk)) + (1 - sent_once) * topk * (1 - 1 / domains)


@formula("s")
def exchange_seconds(exchanged: float, copies: float, link_bandwidth: float) -> float:
    """Exchange with experts over one kind of link."""
    return exchanged * copies / link_bandwidth


@formula("s")
def beyond_compute(inner_seconds: float, outer_seconds: float, compute_seconds: float) -> float:
    """Time that the exchange over the slower kind of link takes longer than the compute that it overlaps."""
    return greater(0.0, greater(inner_seconds, outer_seconds) - compute_seconds)


hidden = product("hidden", "s", "seconds", "overlapped")
"""Time of a collective that overlaps with matrix products."""


compute_seconds = sum_of(
    "compute_seconds", "s", "matrix_seconds", "expert_seconds", "attention_seconds", "memory_seconds"
)
"""Time of a step in which a GPU computes and its links are free."""


@formula("s")
def backward_seconds(compute_seconds: float, passes: float, slots: float) -> float:
    """Backward pass of one micro-batch, with what it recomputes."""
    return compute_seconds * (passes - 1) / passes / slots


@formula("s")
def bucket_latency(gathers: float, messages: float, layers: float, share: float, latency: float) -> float:
    """Latency of gradients that are exchanged layer by layer: a reduce-scatter and an all-gather each."""
    return (gathers == 0) * 2 * messages * layers * share * latency


@formula("s")
def beyond_backward(seconds: float, latency: float, backward_seconds: float) -> float:
    """Time that the exchange of gradients takes longer than the backward pass of the last micro-batch."""
    return greater(0.0, seconds + latency - backward_seconds)


@formula("s")
def exposed(seconds: float, overlapped: float) -> float:
    """Time of a collective that does not overlap."""
    return seconds * (1 - overlapped)


@formula("s")
def constant_seconds() -> float:
    """Unit of the fitted constant time per step."""
    return CONSTANT_S


@formula("s")
def network_constant_seconds(gpus: float, domain: float) -> float:
    """Unit of the fitted constant time per step of a run that spans scale-up domains."""
    return CONSTANT_S * (gpus > domain)


product_of_degrees = product("product_of_degrees", "count", "one", "other")
"""GPUs of two degrees of parallelism combined."""
trained_parameters = product("trained_parameters", "parameters", "parameters", "trained")
"""Weights that the run trains."""
add_seconds = sum_of("add_seconds", "s", "seconds", "more")
"""Time of two parts of a term, or of two terms."""


def apply_plain(formula: Formula, *arguments: Any) -> Any:
    """Apply the formula to floats or arrays."""
    return formula.function(*arguments)


def apply_to_figures(formula: Formula, *arguments: Figure) -> Figure:
    """Apply the formula to figures, whose result keeps its derivation."""
    return formula(*arguments)


def line_rate_terms(apply: Apply, work: Work[Any], machine: Machine[Any], split: Split[Any]) -> Terms[Any]:
    """Return the terms of a step at line rate [s].

    On numbers and arrays with `apply_plain`, on figures with `apply_to_figures`.
    """
    w, m, s = work, machine, split
    count = apply(micro_batches, s.batch, s.data, s.micro_batch)
    lasting = apply(slots, count, s.pipeline, s.interleave)
    tokens = apply(tokens_of_gpu, s.micro_batch, w.sequence, s.context)
    share = apply(share_of_stage, w.layers, s.pipeline)
    times = apply(passes, s.recompute)
    products = apply(matrix_passes, s.recompute, w.trained)
    links = (m.scale_up, m.network, m.domain)
    own = apply(parameters_of_gpu, w.parameters, w.expert_parameters, s.tensor, s.pipeline, s.expert)
    replicas = apply(product_of_degrees, s.data, s.context)
    width = apply(product_of_degrees, s.tensor, s.context)
    all_gpus = apply(product_of_degrees, apply(product_of_degrees, s.tensor, replicas), s.pipeline)
    matrix = apply(matrix_seconds, w.weights, tokens, share, products, lasting, s.tensor, m.peak)
    experts = apply(matrix_seconds, w.expert_weights, tokens, share, products, lasting, s.tensor, m.peak)
    attended = (w.products, tokens, share, lasting, s.tensor, s.flash, s.attention_recompute)
    attention = apply(attention_seconds, *attended, m.plain_peak, m.attention_share)
    scored = (w.scores, tokens, share, lasting, s.tensor, s.flash, s.attention_recompute, m.memory_bandwidth)
    widths = (w.split_width, w.hidden, w.layers, tokens, share, products, lasting, s.tensor, s.sequence_parallel)
    memory = apply(memory_seconds, *widths, m.memory_bandwidth)
    scores = apply(score_seconds, *scored)
    neighbours = apply(bandwidth_of_neighbours, s.tensor, *links)
    round_trip = apply(ring_latency, s.tensor, apply(domains_of_ring, s.tensor, m.domain))
    all_reduced = (w.hidden, w.layers, tokens, share, s.recompute, lasting, s.tensor, neighbours, round_trip)
    reduced = apply(tensor_seconds, *all_reduced)
    ring = apply(bandwidth_of_group, replicas, s.tensor, *links)
    block = apply(bandwidth_of_neighbours, width, *links)
    stages = apply(bandwidth_of_stages, all_gpus, *links)
    copies = apply(expert_replicas, s.data, s.context, s.tensor, s.expert)
    copy_ring = apply(bandwidth_of_group, copies, s.expert, *links)
    exchanged = apply(exchanged_bytes, w.hidden, w.expert_layers, tokens, share, s.recompute, lasting, s.tensor)
    homes = apply(domains_of_experts, s.expert, m.domain)
    inside_copies = apply(copies_inside, w.topk, s.expert, m.domain, s.sent_once)
    inner = apply(exchange_seconds, exchanged, inside_copies, m.scale_up)
    outer = apply(exchange_seconds, exchanged, apply(copies_outside, w.topk, homes, s.sent_once), m.network)
    trained = apply(trained_parameters, w.parameters, w.trained)
    trained_experts = apply(trained_parameters, w.expert_parameters, w.trained)
    ringed = apply(
        add_seconds,
        apply(data_seconds, trained, s.tensor, s.pipeline, replicas, s.gathers, ring),
        apply(data_seconds, trained_experts, s.expert, s.pipeline, copies, s.gathers, copy_ring),
    )
    computing = apply(compute_seconds, matrix, experts, attention, memory)
    backward = apply(backward_seconds, computing, products, lasting)
    spanned = apply(domains_of_ring, replicas, apply(neighbours_in_domain, m.domain, s.tensor))
    delay = apply(ring_latency, replicas, spanned)
    buckets = apply(bucket_latency, s.gathers, s.messages, w.layers, share, delay)
    collectives = apply(collectives_of_weights, s.gathers, w.trained, w.stored_weight)
    parts = (collectives, own, replicas, count, s.messages, w.layers, share, ring, delay)
    gathered = apply(gather_seconds, *parts)
    routed = (w.hidden, w.topk, w.expert_layers, tokens, share, times, lasting, s.tensor)
    narrowed = (w.split_width, w.hidden, w.layers, w.topk, w.expert_layers, tokens, share, products, lasting, s.tensor)
    launched = (w.layers, w.adapted, share, times, lasting)
    passed = (w.hidden, tokens, count, s.tensor, s.pipeline, s.interleave, s.sequence_parallel)
    return Terms(
        matrix=matrix,
        experts=experts,
        narrow=apply(narrow_seconds, matrix, experts, s.tensor, w.hidden, w.expert_width),
        short=apply(short_seconds, matrix, experts, tokens, s.tensor, s.expert, w.topk, w.experts),
        head=apply(head_seconds, w.head, tokens, w.trained, count, s.tensor, m.plain_peak),
        logits=apply(logit_seconds, w.head, w.hidden, tokens, count, s.tensor, m.memory_bandwidth),
        attention=attention,
        memory=memory,
        scores=scores,
        weights=apply(weight_seconds, own, products, w.trained, w.stored_weight, count, m.memory_bandwidth),
        update=apply(
            update_seconds, apply(trained_parameters, own, w.trained), s.sharded, s.data, s.context, m.memory_bandwidth
        ),
        launches=apply(launch_seconds, *launched, matrix, experts, attention, memory, scores),
        routing=apply(routing_seconds, w.expert_layers, share, times, lasting),
        permutation=apply(permutation_seconds, *routed, m.memory_bandwidth),
        quantisation=apply(quantisation_seconds, *narrowed, m.peak, m.plain_peak, m.memory_bandwidth),
        tensor=apply(inside, reduced, s.tensor, m.domain),
        tensor_network=apply(outside, reduced, s.tensor, m.domain),
        context=apply(context_seconds, w.kv_width, tokens, share, times, lasting, s.tensor, s.context, block),
        pipeline=apply(pipeline_seconds, *passed, stages),
        data=apply(exposed, ringed, s.overlapped),
        data_overlapped=apply(hidden, apply(beyond_backward, ringed, buckets, backward), s.overlapped),
        gathers=apply(exposed, gathered, s.overlapped),
        gathers_overlapped=apply(hidden, gathered, s.overlapped),
        exchange=apply(exposed, inner, s.exchange_overlapped),
        exchange_network=apply(exposed, outer, s.exchange_overlapped),
        exchange_overlapped=apply(hidden, apply(beyond_compute, inner, outer, computing), s.exchange_overlapped),
        constant=apply(constant_seconds),
        constant_network=apply(network_constant_seconds, all_gpus, m.domain),
    )
