"""Names of models and their parameter counts.

A name on Hugging Face is that of a publisher and a checkpoint, such as `nvidia/Llama-3.1-405B-Instruct-FP8`. Its ending
says what was tuned or quantised, which leaves the shape of the model as it is. Some models are not sized, because their
work does not follow from parameters and tokens; the beginnings of their names are data, `data/unsized-models.yaml`, by
kind.

A catalogue model gives its shape and the structure of its layers, not its number of parameters, so that a report
explains the number. Where a publisher leaves open details that the count needs, the file gives `parameters` as well,
with the reason in its `note`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from bomgen.catalog.model_matrices import (
    DEEPSEEK_V2,
    NO_BIAS,
    PLAIN,
    Matrix,
    attention,
    attention_layers,
    beside_experts,
    compressed,
    experts,
    feed_forward,
    further_attention,
    layers_with_experts,
    missing,
    width_of_head,
)
from bomgen.catalog.parts import Model
from bomgen.core.messages import message
from bomgen.core.provenance import Cited, Figure, Reference, constant, formula, product, sum_of
from bomgen.core.yaml_source import read_data

FORMATS: Mapping[str, str] = {
    "fp8": "fp8",
    "nvfp4": "nvfp4",
    "mxfp8": "fp8",
    "mxfp4": "mxfp4",
    "fp4": "nvfp4",
    "awq": "awq",
    "gptq": "gptq",
    "w4a16": "int4",
    "int4": "int4",
    "w8a8": "w8a8",
    "int8": "int8",
    "4bit": "int4",
    "8bit": "int8",
    "bf16": "bf16",
}
"""The number format that a word of a checkpoint's name stands for; FP4 is that of NVIDIA's older checkpoints."""
_TUNED = ("instruct", "chat", "base", "it", "hf", "pt", "sft", "rl", "dpo", "thinking", "think", "preview", "speciale")
_DETAIL = (
    *("dynamic", "block", "static", "pertensor", "quantized", "mixed", "kv", "bnb", "autoround", "mlx", "gguf", "qat"),
    *("ct", "w4a4", "w8a16"),
)
"""Words that say how a format was made."""
_EDITION_OF_FILES = r"v[0-9](?:\.[0-9])?"
_GGUF = r"i?q(?P<bits>[2-8])(?:-[0-9ksml]+)*"
"""Formats of llama.cpp, such as Q4_K_M; those of 4 and of 8 bits are read like the integers that are as wide."""
_ENDING = re.compile(rf"[-.](?:{'|'.join(map(re.escape, (*FORMATS, *_TUNED, *_DETAIL)))}|{_EDITION_OF_FILES}|{_GGUF})$")
_EDITION = re.compile(rf"-(?:{'|'.join((*FORMATS, *_TUNED))}|[0-9]{{4}})(?=-|$)")
_BRANDS = ("meta-", "nvidia-")
"""Beginnings that repeat the publisher."""


def bare_names(name: str) -> Iterator[str]:
    """Yield the names that a checkpoint's name may mean, longest first: without publisher, brand and endings."""
    short = name.lower().rpartition("/")[2].replace("_", "-").replace(" ", "-")
    while True:
        yield short
        yield from (short.removeprefix(brand) for brand in _BRANDS if short.startswith(brand))
        ending = _ENDING.search(short)
        if ending is None:
            return
        short = short[: ending.start()]


def untuned(name: str) -> str:
    """Return a checkpoint's name without publisher, and without tuning, format and date wherever they are in it."""
    return _EDITION.sub("", next(bare_names(name)))


def format_of_checkpoint(name: str) -> str | None:
    """Return the number format that a checkpoint's name ends with, before details; None where it names none."""
    short = name.lower().rpartition("/")[2].replace("_", "-")
    words = []
    while ending := _ENDING.search(short):
        words.append(f"{ending['bits']}bit" if ending["bits"] else ending[0][1:])
        short = short[: ending.start()]
    # GPTQ and AWQ name their bits behind them: the method, which comes first, says which matrices it takes.
    return next((FORMATS[word] for word in reversed(words) if word in FORMATS), None)


FILE = "unsized-models.yaml"


def kind_of_unsized(name: str) -> str | None:
    """Return the kind of a model that is not sized, such as diffusion, by its name; None for any other."""
    own_name = name.lower().rpartition("/")[2].replace("_", "-").replace(" ", "-")
    # The whole name may be the family's alone: `vit`, of which the file has `vit-`.
    kinds = (kind for kind, names in read_data(FILE).items() if f"{own_name}-".startswith(tuple(names)))
    return next(kinds, None)


RMS, LAYER = "rms", "layer"
BIAS_OF_ALL = "all"

_LLAMA = Reference(
    "Touvron et al. 2023, LLaMA: Open and Efficient Foundation Language Models, section 2.2",
    "https://arxiv.org/abs/2302.13971",
)
_BLOOM = Reference(
    "BigScience Workshop 2022, BLOOM: A 176B-Parameter Open-Access Multilingual Language Model, section 3.2.2",
    "https://arxiv.org/abs/2211.05100",
)
_GLU = Reference("Shazeer 2020, GLU Variants Improve Transformer, section 2", "https://arxiv.org/abs/2002.05202")
_TRANSFORMER_XL = "Dai et al. 2019, Transformer-XL, section 3.3"

NORMS_PER_LAYER = Figure(2, "count", Cited(message("norms-of-layer"), (_LLAMA,), "high"))
FINAL_NORM = Figure(1, "count", Cited(message("norm-final"), (_LLAMA,), "high"))
OUTER_NORMS = Figure(2, "count", Cited(message("norms-outer"), (_BLOOM,), "high"))
GATED_MATRICES = Figure(3, "count", Cited(message("matrices-gated"), (_GLU,), "high"))
PLAIN_MATRICES = Figure(2, "count", Cited(message("matrices-plain"), (_GLU,), "high"))


def parameters(model: Model) -> Figure | None:
    """Return all parameters of a model, from its shape; None when keys of the shape are missing."""
    if missing(model):
        return None
    shape, by_name = model.shape, {matrix.name: matrix for matrix in attention(model)}
    tokens = (tied_embedding if model.tied else embeddings)(shape["vocab"], shape["hidden"])
    if "positions" in shape:
        tokens = add_position_embedding(tokens, shape["positions"], shape["hidden"])
    router = ZERO_PARAMETERS
    if model.moe:
        weights = biased_router_weights if model.router_bias else router_weights
        router = weights(layers_with_experts(model), shape["hidden"], shape["experts"])
    return all_parameters(
        embeddings=tokens,
        attention=_add_matrices(_attention_weights(model, by_name), further_attention(model)),
        feed_forward=_block_weights(model, feed_forward(model)),
        experts=_add_matrices(_block_weights(model, experts(model)), beside_experts(model)),
        router=router,
        norms=_norms(model),
        biases=_biases(model, by_name),
    )


def active_parameters(model: Model, parameters: Figure) -> Figure | None:
    """Return the active parameters per token of a mixture of experts; None when its experts are not well known."""
    if not model.moe or not {"layers", "hidden", "experts", "topk", "ffn_expert"} <= model.shape.keys():
        return None
    up = experts(model)[-2]
    return subtract_idle_experts(parameters, _matrices_of_block(model), up.inputs, up.outputs, up.count, up.active)


def _attention_weights(model: Model, by_name: Mapping[str, Matrix]) -> Figure:
    if compressed(model):
        return ZERO_PARAMETERS
    shape, hidden, layers = model.shape, model.shape["hidden"], by_name["o_proj"].count
    if model.mla:
        kept, expanded = by_name["kv_a_proj_with_mqa"].outputs, by_name["kv_b_proj"].outputs
        rest = (kept, shape["kv_lora_rank"], expanded, by_name["o_proj"].inputs)
        if "q_proj" in by_name:
            return latent_weights(layers, hidden, by_name["q_proj"].outputs, *rest)
        return latent_weights_with_query_rank(layers, hidden, shape["q_lora_rank"], by_name["q_b_proj"].outputs, *rest)
    queries, keys = by_name["q_proj"].outputs, by_name["k_proj"].outputs
    if "v_head_dim" in shape:
        return _add_matrices(ZERO_PARAMETERS, tuple(by_name.values()))
    weights = attention_weights(layers, hidden, queries, keys)
    return add_relative_positions(weights, layers, hidden, queries) if model.relative_positions else weights


def _add_matrices(weights: Figure, matrices: tuple[Matrix, ...]) -> Figure:
    for matrix in matrices:
        weights = add_matrix(weights, matrix.inputs, matrix.outputs, matrix.count)
    return weights


def _matrices_of_block(model: Model) -> Figure:
    return PLAIN_MATRICES if model.mlp == PLAIN else GATED_MATRICES


def _block_weights(model: Model, block: tuple[Matrix, ...]) -> Figure:
    if not block:
        return ZERO_PARAMETERS
    down = block[-1]
    return block_weights(_matrices_of_block(model), down.outputs, down.inputs, down.count)


def _norms(model: Model) -> Figure:
    shape, layers = model.shape, model.shape["layers"]
    outer = OUTER_NORMS if model.embedding_norm else FINAL_NORM
    kind = layer_norms if model.norm == LAYER else rms_norms
    norms = kind(layers, shape.get("norms_per_layer", NORMS_PER_LAYER), outer, shape["hidden"])
    layers = attention_layers(model)
    if model.mla and "q_lora_rank" in shape:
        norms = add_latent_norms(norms, layers, shape["q_lora_rank"], shape["kv_lora_rank"])
    elif model.mla:
        norms = add_latent_norm(norms, layers, shape["kv_lora_rank"])
    return add_qk_norms(norms, layers, width_of_head(model)) if model.qk_norm else norms


def _biases(model: Model, by_name: Mapping[str, Matrix]) -> Figure:
    layers, hidden, biases = model.shape["layers"], model.shape["hidden"], ZERO_PARAMETERS
    if model.bias != NO_BIAS:
        back = hidden if model.bias == BIAS_OF_ALL else ZERO_PARAMETERS
        biases = attention_biases(layers, by_name["q_proj"].outputs, by_name["k_proj"].outputs, back)
    if model.bias == BIAS_OF_ALL:
        for block in filter(None, (feed_forward(model), experts(model))):
            down = block[-1]
            biases = add_block_biases(biases, down.count, _matrices_of_block(model), down.inputs, hidden)
    if model.relative_positions and not model.mla:
        biases = add_position_biases(biases, layers, by_name["q_proj"].outputs)
    return biases


# formulas ------------------------------------------------------------------------------------------------------------


zero_parameters = constant("zero_parameters", "parameters", 0)
"""Parameters of a component that a model does not have."""


ZERO_PARAMETERS = zero_parameters()


@formula("parameters")
def attention_weights(layers: int, hidden: int, queries: int, keys: int) -> int:
    """Weights of attention: queries and output, keys and values."""
    return layers * hidden * 2 * (queries + keys)


@formula("parameters", _TRANSFORMER_XL)
def add_relative_positions(attention: int, layers: int, hidden: int, queries: int) -> int:
    """Weights of attention, plus those that project relative positions."""
    return attention + layers * hidden * queries


@formula("parameters")
def add_matrix(weights: int, inputs: int, outputs: int, count: int) -> int:
    """Weights, plus those of `count` equal matrices."""
    return weights + inputs * outputs * count


@formula("parameters", DEEPSEEK_V2)
def latent_weights(
    layers: int, hidden: int, queries: int, compressed: int, kv_lora_rank: int, expanded: int, values: int
) -> int:
    """Weights of latent attention: queries, compressed keys and values, their expansion, output."""
    return layers * (hidden * queries + hidden * compressed + kv_lora_rank * expanded + values * hidden)


@formula("parameters", DEEPSEEK_V2)
def latent_weights_with_query_rank(
    layers: int,
    hidden: int,
    q_lora_rank: int,
    queries: int,
    compressed: int,
    kv_lora_rank: int,
    expanded: int,
    values: int,
) -> int:
    """Weights of latent attention whose queries are also compressed."""
    return layers * (
        hidden * q_lora_rank + q_lora_rank * queries + hidden * compressed + kv_lora_rank * expanded + values * hidden
    )


block_weights = product("block_weights", "parameters", "matrices", "hidden", "width", "count")
"""Weights of `count` feed-forward blocks."""
router_weights = product("router_weights", "parameters", "layers", "hidden", "experts")
"""Weights of the routers."""


@formula("parameters", "DeepSeek-AI 2024, DeepSeek-V3 Technical Report, section 2.1.2")
def biased_router_weights(layers: int, hidden: int, experts: int) -> int:
    """Weights of the routers, and one bias per expert that balances their choice."""
    return layers * (hidden + 1) * experts


@formula("parameters")
def embeddings(vocab: int, hidden: int) -> int:
    """Weights of the input and the output embedding."""
    return 2 * vocab * hidden


tied_embedding = product("tied_embedding", "parameters", "vocab", "hidden")
"""Weights of the embedding shared by input and output."""


@formula("parameters")
def add_position_embedding(embeddings: int, positions: int, hidden: int) -> int:
    """Weights of the embeddings, plus learned positions."""
    return embeddings + positions * hidden


@formula("parameters")
def rms_norms(layers: int, norms_per_layer: int, outer_norms: int, hidden: int) -> int:
    """Weights of norms that only scale."""
    return (layers * norms_per_layer + outer_norms) * hidden


@formula("parameters")
def layer_norms(layers: int, norms_per_layer: int, outer_norms: int, hidden: int) -> int:
    """Weights and biases of norms that scale and shift."""
    return (layers * norms_per_layer + outer_norms) * 2 * hidden


@formula("parameters", DEEPSEEK_V2)
def add_latent_norms(norms: int, layers: int, q_lora_rank: int, kv_lora_rank: int) -> int:
    """Weights of the norms, plus those of the latent vectors of queries and of keys and values."""
    return norms + layers * (q_lora_rank + kv_lora_rank)


@formula("parameters", DEEPSEEK_V2)
def add_latent_norm(norms: int, layers: int, kv_lora_rank: int) -> int:
    """Weights of the norms, plus those of the latent vector of keys and values."""
    return norms + layers * kv_lora_rank


@formula("parameters")
def add_qk_norms(norms: int, layers: int, head_dim: int) -> int:
    """Weights of the norms, plus those of queries and keys, which all heads of a layer share."""
    return norms + layers * 2 * head_dim


@formula("parameters")
def attention_biases(layers: int, queries: int, keys: int, output: int) -> int:
    """Biases of attention: queries, keys and as many values, output."""
    return layers * (queries + 2 * keys + output)


@formula("parameters")
def add_block_biases(biases: int, count: int, matrices: int, width: int, hidden: int) -> int:
    """Biases, plus those of feed-forward blocks: of all matrices but the last, and of the last."""
    return biases + count * ((matrices - 1) * width + hidden)


@formula("parameters", f"{_TRANSFORMER_XL}: u and v")
def add_position_biases(biases: int, layers: int, queries: int) -> int:
    """Biases, plus the two that replace a query's position."""
    return biases + layers * 2 * queries


all_parameters = sum_of(
    "all_parameters", "parameters", "embeddings", "attention", "feed_forward", "experts", "router", "norms", "biases"
)
"""All parameters of a transformer."""


@formula("parameters")
def subtract_idle_experts(parameters: int, matrices: int, hidden: int, width: int, count: int, active: int) -> int:
    """Parameters that process a token: all but those of the experts it skips."""
    return parameters - matrices * hidden * width * (count - active)
