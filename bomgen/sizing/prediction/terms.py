"""The terms of a training step: each the seconds of one kind of work at line rate.

Matrix products run at the peak of the GPU, memory traffic at its bandwidth, collectives at the bandwidth of the links
between their GPUs. The time of a step is the sum of the terms, each times an inverse efficiency, the prediction
coefficient that is fitted to published measurements. `docs/training.md` describes the terms.

`line_rate_terms` is a calculation, for single numbers, NumPy arrays and figures alike: a search over thousands of
splits, a plan and its explanation get the same number.
"""

from __future__ import annotations

from typing import Any, Generic, NamedTuple, TypeVar

from bomgen.core.provenance import applied, divided_up, greatest, least, step, sum_of, where

Number = TypeVar("Number")
"""A float, a NumPy array or a figure."""

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
EXCHANGES = 2
"""All-reduces of a block, one forward and one backward."""
ROUND_TRIPS = 4
"""Passages of a token to its experts or back: two forward and two backward."""
PASSES = 3
"""Forward once, backward twice the forward."""
NARROW_WIDTH = 1024
"""Width of a matrix product at which the narrow term is as large as the matrix product."""
HIDDEN_TRAFFIC = 4
"""Reads and writes of the hidden state per block outside of matrix products: norms, residuals, dropout."""
SCORE_TRAFFIC = 4
"""Reads and writes of the score matrix per pass without FlashAttention, which keeps it on the chip."""
KAPLAN = "Kaplan et al. 2020, arXiv 2001.08361: 2 FLOPs a multiply-add, three passes"
ALL_TOKENS = "Matrix products with the weights that process every token (no routed experts)."
DRAWS = (1, 2, 4, 8, 16)
"""Binary digits of the number of experts of a token."""
LINK_HOP_S = 3.4e-6
NETWORK_HOP_S = 9.6e-6
"""Latency of a hop of a ring in a scale-up domain and over the network [s].

NCCL 2.8, src/graph/tuning.cc, rings of the simple protocol.
"""
LAUNCH_S = 300e-6
"""Time for the host to start the kernels of a block in a pass: some 25 kernels of 12 us [s]."""
ADAPTER_LAUNCH_S = 48e-6
"""Time for the host to start the kernels of an adapter in a pass: two products, scaling and sum [s]."""
ROUTING_S = 200e-6
"""Unit of the time of a layer in a pass to route tokens to experts, besides their exchange [s]."""
CONSTANT_S = 0.01
"""Unit of the constants of a step [s]."""


class Work(NamedTuple, Generic[Number]):
    """The work of a model for a token of a sequence, in all its layers."""

    layers: Number
    blocks: Number
    """Blocks of attention, of a state, and of a feed-forward network or experts: as a rule two per layer."""
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
    states: Number
    """Elements of the states of layers with linear attention or Mamba."""
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
    expert_input: Number
    """Elements of a token that are sent to its experts: the hidden state, or its latent vector."""
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
    states: Number
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


EXPERTS = ("experts", "routing", "permutation", "exchange", "exchange_network", "exchange_overlapped")
"""Terms that only a mixture of experts has, whose software changes most from version to version."""
HIDING = ("matrix", "experts", "attention", "memory", "scores", "states")
"""Terms whose kernels hide others."""
HIDDEN = ("launches", "exchange_overlapped")
"""Terms that are hidden.

What is hidden never takes longer than the kernel that hides it: otherwise a slower GPU could have the faster step.
"""


def missed(places: float, draws: float) -> float:
    """Return the probability that none of up to 31 draws hits one of a number of places.

    By squaring, since the powers of NumPy and of Python differ in the last bit.
    """
    none, power = 1.0, 1 - 1 / places
    for digit in DRAWS:
        none, power = none * (1 + draws // digit % 2 * (power - 1)), power * power
    return none


# terms ---------------------------------------------------------------------------------------------------------------


add_seconds = sum_of("add_seconds", "s", "seconds", "more")
"""Time of two parts of a term, or of two terms."""


def ring_bandwidth(m: Any, size: Any, inner: Any = None) -> Any:
    """Return the bandwidth per GPU of a ring through `size` GPUs that are `inner` apart, else adjacent.

    A ring that leaves a scale-up domain enters and leaves it through the NICs of all its GPUs there.
    """
    span, nics = size, least(size, m.domain)
    if inner is not None:
        span, nics = size * inner, greatest(1.0, least(size, m.domain / inner))
    bandwidth = where(span <= m.domain, m.scale_up, least(m.scale_up, m.network * nics))
    return step("link_bandwidth", "bytes/s", bandwidth, "Bandwidth per GPU of a ring.")


def _ring_latency(size: Any, domains: Any) -> Any:
    return step(
        *("latency", "s", LINK_HOP_S * (size - domains) + NETWORK_HOP_S * (domains - 1)),
        "Time of an empty message for one round of a ring.",
        "NCCL 2.8, src/graph/tuning.cc: a hop per GPU, those between domains over the network",
    )


def count_micro_batches(batch: Any, data: Any, micro_batch: Any) -> Any:
    """Return the micro-batches of a replica in a step."""
    return step("micro_batches", "micro-batches", divided_up(batch, data * micro_batch), "Micro-batches of a replica.")


def duration_in_slots(micro_batches: Any, pipeline: Any, interleave: Any) -> Any:
    """Return the duration of a step in micro-batches."""
    return step(
        *("slots", "slots", micro_batches + (pipeline - 1) / interleave),
        "Duration of a step in micro-batches, including the pipeline bubble.",
        "Narayanan et al. 2021, arXiv 2104.04473, section 2.2: the pipeline bubble with interleaved stages",
    )


def tokens_of_gpu(micro_batch: Any, sequence: Any, context: Any) -> Any:
    """Return the tokens per micro-batch and GPU."""
    return step("tokens", "tokens", micro_batch * sequence / context, "Tokens per micro-batch and GPU.")


def share_of_stage(layers: Any, pipeline: Any) -> Any:
    """Return the share of the layers in the fullest pipeline stage."""
    return step("share", "share", divided_up(layers, pipeline) / layers, "Share of the layers in the fullest stage.")


def matrix_passes(recompute: Any, trained: Any) -> Any:
    """Return the matrix products of a step in forward passes."""
    return step(
        *("matrix_passes", "passes", PASSES - 1 + trained + recompute),
        "Matrix products in forward passes; frozen weights have no gradients.",
    )


def matrix_seconds(weights: Any, tokens: Any, share: Any, passes: Any, slots: Any, tensor: Any, peak: Any) -> Any:
    """Return the time of matrix products with some of the weights."""
    return 2 * weights * share / tensor * tokens * passes * slots / peak


def line_rate_terms(work: Work[Any], machine: Machine[Any], split: Split[Any]) -> Terms[Any]:
    """Return the terms of a step at line rate [s]."""
    w, m, s = work, machine, split
    micro_batches = count_micro_batches(s.batch, s.data, s.micro_batch)
    slots = duration_in_slots(micro_batches, s.pipeline, s.interleave)
    tokens = tokens_of_gpu(s.micro_batch, w.sequence, s.context)
    share = share_of_stage(w.layers, s.pipeline)
    most = step("most_layers", "layers", share * w.layers, "Layers of the fullest stage.")
    fewer = step(
        *("fewer_layers", "layers", least(most * s.pipeline - w.layers, most - 1)),
        "Layers that the last stage has fewer than the fullest one, as the stages are not equal.",
        "Megatron Core, account_for_loss_in_pipeline_split: the loss takes the place of layers",
    )
    passes = step("passes", "passes", PASSES + s.recompute, "Compute in forward passes, with recomputation.")
    products = matrix_passes(s.recompute, w.trained)
    own = step(
        *("parameters", "parameters", (w.parameters / s.tensor + w.expert_parameters / s.expert) / s.pipeline),
        "Weights per GPU.",
    )
    replicas = step("replicas", "count", s.data * s.context, "GPUs that hold the same weights.")
    gpus = step("gpus", "GPUs", s.tensor * replicas * s.pipeline, "GPUs of a step.")

    work_of_gpu = (tokens, share, products, slots, s.tensor, m.peak)
    matrix = step("matrix_seconds", "s", matrix_seconds(w.weights, *work_of_gpu), ALL_TOKENS, KAPLAN)
    experts = step(
        "expert_seconds", "s", matrix_seconds(w.expert_weights, *work_of_gpu), "Products with routed experts.", KAPLAN
    )
    half_more = PASSES + s.attention_recompute + s.flash / 2
    scored = 2 * w.products * (2 - s.flash) * half_more * share / s.tensor * tokens * slots
    attention = step(
        *("attention_seconds", "s", scored / (m.plain_peak * m.attention_share)),
        "Attention scores and their product with the values; without FlashAttention the masked half is computed too.",
        "Dao 2023, arXiv 2307.08691: half a forward pass more; Korthikanti et al. 2022, arXiv 2205.05198",
    )
    kept = s.sequence_parallel / s.tensor + 1 - s.sequence_parallel
    elements = w.split_width / s.tensor + HIDDEN_TRAFFIC * w.hidden * w.blocks * kept
    memory = step(
        *("memory_seconds", "s", BYTES * elements * share * tokens * products * slots / m.memory_bandwidth),
        "Memory traffic of activations; only sequence parallelism splits the hidden state. Gradients of weights are "
        "the third pass: they read, and in 8 bits cast, the inputs again.",
    )
    matrices = (1 - s.flash) * SCORE_TRAFFIC * BYTES * w.scores * (PASSES + s.attention_recompute) * share / s.tensor
    scores = step(
        *("score_seconds", "s", matrices * tokens * slots / m.memory_bandwidth),
        "Memory traffic of the score matrices; none with FlashAttention.",
    )
    states = step(
        *("state_seconds", "s", BYTES * w.states * share / s.tensor * tokens * passes * slots / m.memory_bandwidth),
        "The states of linear attention or Mamba passing through memory once per token; kernels keep them on the chip "
        "for a chunk of tokens, and compute as long.",
    )
    compute = step(
        "compute_seconds", "s", matrix + experts + attention + memory + states, "Time in which links are free."
    )
    layers_saved = step(
        *("saved_seconds", "s", fewer * compute / most / slots * micro_batches),
        "Time of the layers that the last stage does not have.",
    )
    projected = step(
        *(
            "head_seconds",
            "s",
            2 * (PASSES - 1 + w.trained) * w.head / s.tensor * tokens * micro_batches / m.plain_peak,
        ),
        "Matrix product of the output projection, on the last pipeline stage only.",
    )

    round_trip = _ring_latency(s.tensor, step("domains", "count", s.tensor / least(s.tensor, m.domain)))
    sent = (s.tensor - 1) / s.tensor * BYTES * w.hidden * tokens / ring_bandwidth(m, s.tensor)
    reduced = step(
        *("seconds", "s", 2 * w.blocks * (EXCHANGES + s.recompute) * share * slots * (sent + round_trip)),
        "All-reduces of tensor parallelism, each with two rounds of the ring.",
        "Korthikanti et al. 2022, arXiv 2205.05198, section 4.2: one all-reduce a block and direction",
    )
    ring = ring_bandwidth(m, replicas, s.tensor)
    spanned = replicas / least(replicas, greatest(1.0, m.domain / s.tensor))
    delay = _ring_latency(replicas, step("domains", "count", spanned, "Scale-up domains of the ring of replicas."))
    stages = step(
        *("link_bandwidth", "bytes/s", where(gpus <= m.domain, m.scale_up, least(m.scale_up, m.network))),
        "Bandwidth per GPU between pipeline stages, which share a scale-up domain only if all GPUs do.",
    )

    def gradients(name: str, parameters: Any, parts: Any, copies: Any, bandwidth: Any) -> Any:
        trained = GRADIENT_BYTES * (parameters * w.trained)
        reduction = where(s.gathers == 0, 2 * (copies - 1) / copies, 0.0) * trained / (parts * s.pipeline) / bandwidth
        return step(name, "s", reduction, "All-reduce of gradients; none if each micro-batch gathers weights.")

    copies = step("copies", "GPUs", greatest(1.0, s.data * s.context * s.tensor / s.expert), "Replicas of an expert.")
    of_experts = gradients("more", w.expert_parameters, s.expert, copies, ring_bandwidth(m, copies, s.expert))
    ringed = gradients("seconds", w.parameters, s.tensor, replicas, ring) + of_experts
    ringed = step("gradient_seconds", "s", ringed, "All-reduce of gradients, with those of experts.")
    backward = step("backward_seconds", "s", compute * (products - 1) / products / slots, "Of one micro-batch.")
    buckets = where(s.gathers == 0, 2 * s.messages * w.layers * share * delay, 0.0)
    collectives = where(s.gathers > 0, (s.gathers - 1) * w.stored_weight / BYTES + w.trained, 0.0)
    of_layers = s.messages * w.layers * share * delay
    gathered = step(
        "seconds",
        "s",
        collectives * micro_batches * (BYTES * own * (replicas - 1) / replicas / ring + of_layers),
        "All-gather of weights and reduce-scatter of gradients per micro-batch, one round of the ring each.",
    )

    exchanged = step(
        "exchanged",
        "bytes",
        (ROUND_TRIPS + 2 * s.recompute) * BYTES * w.expert_input * w.expert_layers * share * tokens / s.tensor * slots,
        "Bytes per GPU of one copy of each token, sent to an expert and back, forward and backward.",
    )
    homes = step("domains", "count", greatest(1.0, s.expert / m.domain), "Scale-up domains with experts of a layer.")
    inside = step(
        "copies",
        "count",
        s.sent_once * (s.expert - 1) * (1 - applied(missed, s.expert, w.topk))
        + (1 - s.sent_once) * w.topk * (least(s.expert, m.domain) - 1) / s.expert,
        "Copies of a token that cross the links of a scale-up domain to experts; experts are drawn independently.",
        "with DeepEP also those from other domains, which one of its GPUs receives and passes on",
    )
    outside = step(
        "copies",
        "count",
        s.sent_once * (homes - 1) * (1 - applied(missed, homes, w.topk)) + (1 - s.sent_once) * w.topk * (1 - 1 / homes),
        "Copies of a token that cross the network to experts in other scale-up domains.",
        "DeepSeek-AI 2024, arXiv 2412.19437, section 3.2.2: with DeepEP a token crosses once per domain",
    )
    inner = step("inner_seconds", "s", exchanged * inside / m.scale_up, "Exchange with experts in a domain.")
    outer = step("outer_seconds", "s", exchanged * outside / m.network, "Exchange with experts over the network.")
    beside = greatest(0.0, greatest(inner, outer) - compute)
    launched = (LAUNCH_S * w.blocks + ADAPTER_LAUNCH_S * w.adapted) * share * passes * slots
    quantised = w.split_width + w.hidden * w.blocks + w.expert_input * w.topk * w.expert_layers
    sorted_ = PERMUTATIONS * BYTES * w.expert_input * w.topk * w.expert_layers * share * tokens * passes * slots
    restored = BYTES + where(w.stored_weight < BYTES, w.stored_weight + BYTES, 0)
    ring_of_sequence = ring_bandwidth(m, step("width", "count", s.tensor * s.context, "GPUs of a sequence."))
    keys = (s.context - 1) * BYTES * w.kv_width / s.tensor * share * tokens * passes * slots
    passed = where(s.pipeline > 1, 2 * BYTES, 0) * w.hidden * kept * tokens * s.interleave * micro_batches

    def term(seconds: Any, why: str) -> Any:
        return step("seconds", "s", seconds, why)

    return Terms(
        matrix=matrix,
        experts=experts,
        narrow=term(
            NARROW_WIDTH * (matrix * s.tensor / w.hidden + experts / w.expert_width),
            "Efficiency loss of matrix products whose width per GPU is small: hidden / tensor, or the expert width.",
        ),
        short=term(
            NARROW_WIDTH * (matrix + experts * w.experts * s.tensor / (w.topk * s.expert)) / tokens,
            "Efficiency loss of matrix products with few tokens per micro-batch and GPU, or per expert.",
        ),
        head=term(
            greatest(0.0, projected - layers_saved),
            "Time that the output projection takes longer than the layers that the last stage does not have.",
        ),
        logits=term(
            LOGIT_BYTES * w.head / w.hidden / s.tensor * tokens * micro_batches / m.memory_bandwidth,
            "Memory traffic of the loss, which reads and writes one logit per token and vocabulary entry.",
        ),
        attention=attention,
        memory=memory,
        scores=scores,
        states=states,
        weights=term(
            own * (restored * products + 2 * GRADIENT_BYTES * w.trained) * micro_batches / m.memory_bandwidth,
            "Memory traffic of weights, which are restored to 16 bits each pass if quantised, and of gradients.",
        ),
        update=term(
            UPDATE_BYTES * (own * w.trained) * (s.sharded / (s.data * s.context) + 1 - s.sharded) / m.memory_bandwidth,
            "Memory traffic of the optimizer step, on a share of the weights if its states are sharded.",
        ),
        launches=term(
            greatest(0.0, launched - (matrix + experts + attention + memory + scores + states)),
            "Kernel launches of the host that the GPU waits for.",
        ),
        routing=term(ROUTING_S * w.expert_layers * share * passes * slots, "Unit of the fitted time for routing."),
        permutation=term(
            sorted_ / s.tensor / m.memory_bandwidth,
            "Memory traffic of tokens that are copied for each of their experts, sorted by expert, and summed again.",
        ),
        quantisation=term(
            where(m.peak > m.plain_peak, QUANTISING_BYTES, 0)
            * (quantised / s.tensor * share * tokens * products * slots / m.memory_bandwidth),
            "Memory traffic of the quantisation of activations and their gradients, none at 16 bits.",
        ),
        tensor=term(where(s.tensor <= m.domain, reduced, 0.0), "All-reduces of tensor parallelism within a domain."),
        tensor_network=term(where(s.tensor > m.domain, reduced, 0.0), "The same, across domains."),
        context=term(keys / ring_of_sequence, "Keys, values and gradients around the ring of context parallelism."),
        pipeline=term(passed / stages, "Activations and gradients sent between pipeline stages."),
        data=term(ringed * (1 - s.overlapped), "All-reduce of gradients that does not overlap."),
        data_overlapped=term(
            greatest(0.0, ringed + buckets - backward) * s.overlapped,
            "Time that the exchange of gradients takes longer than the backward pass of the last micro-batch.",
        ),
        gathers=term(gathered * (1 - s.overlapped), "Collectives of weights that do not overlap."),
        gathers_overlapped=term(gathered * s.overlapped, "Collectives of weights that overlap with matrix products."),
        exchange=term(inner * (1 - s.exchange_overlapped), "Exchange with experts in a scale-up domain."),
        exchange_network=term(outer * (1 - s.exchange_overlapped), "Exchange with experts over the network."),
        exchange_overlapped=term(
            beside * s.exchange_overlapped, "Exchange that takes longer than the compute that it overlaps."
        ),
        constant=term(CONSTANT_S, "Unit of the fitted constant time per step."),
        constant_network=term(
            where(gpus > m.domain, CONSTANT_S, 0.0), "The same of a run that spans scale-up domains."
        ),
    )
