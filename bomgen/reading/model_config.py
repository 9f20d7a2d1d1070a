"""A Hugging Face `config.json` as a model part: its shape under the catalogue's keys.

A configuration says what its library does not assume: an absent key has the default of its `model_type`, which
`data/model-types.yaml` lists.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

from bomgen.catalog import part_records
from bomgen.catalog.files import MODEL, Record, schema_of_file
from bomgen.core import schema
from bomgen.core.diagnostics import PlanErrors, Problem, error_at
from bomgen.core.provenance import Mark
from bomgen.core.yaml_edit import write_scalar
from bomgen.core.yaml_source import Path, Source, read_data
from bomgen.reading.model_weights import format_of_experts, formats_of_parts, scales, vision_parameters

MAX_COUNT = 10**9
"""Largest number of a shape; the longest context of a model has 10 million tokens."""
_WORD = re.compile(r"[A-Za-z0-9_.-]{1,60}")
BILLION = 10**9
LANGUAGE_PARTS = ("text_config", "llm_config", "language_config")
"""Keys of the language model in the configuration of a model that also sees or hears."""
BLOCK_TYPES = "layers_block_type"
"""The key of the kinds of Nemotron's layers, one by one, which also tells their number."""
SLIDING, LINEAR = "sliding_attention", "linear_attention"
EACH_FOURTH = 4
"""Of Qwen3-Next and Llama 4 every fourth layer has full attention."""
BLOCK_WIDTH = 4
"""Width of a feed-forward block in hidden sizes where a configuration has none, as that of GPT-NeoX and BLOOM."""
NORMS_BESIDE_EXPERTS = 7
"""Norms of a layer of Gemma 4 with experts, whose dense block and experts have their own."""
TYPES = "model-types.yaml"
_MAMBA = ("n_groups", "ssm_state_size", "mamba_num_heads", "mamba_head_dim", "conv_kernel")
_DELTA_NET = (
    *("linear_num_key_heads", "linear_key_head_dim", "linear_num_value_heads", "linear_value_head_dim"),
    "linear_conv_kernel_dim",
)
FOUR_BITS = ("nvfp4", "mxfp4", "int4")
"""Formats in which mixtures of experts are published with routed experts alone quantised."""
INTEGERS = ("int4", "awq", "gptq")
_STORED = {"int 4": "int4", "float 4": "nvfp4", "int 8": "w8a8", "float 8": "fp8"}
"""Formats of compressed-tensors by type and bits; MXFP4 names itself."""


class ReadModel(NamedTuple):
    """A model part read from a configuration."""

    data: dict[str, Any]
    parameters: int
    active_parameters: int
    problems: tuple[Problem, ...]
    """Warnings, such as of an unknown type."""


def read_config(text: str, file: str) -> Source:
    """Return the data of a configuration in JSON; `file` is its name in marks. Raises PlanErrors for other text.

    Unlike YAML of a plan it may be long: checkpoints list the matrices that are not quantised, one by one.
    """
    try:
        data = json.loads(text.removeprefix("\ufeff"))
    except json.JSONDecodeError as error:
        mark = Mark(file, error.lineno, error.colno)
        raise error_at(mark, f"not JSON: {error.msg}; give the config.json of a checkpoint", "json") from None
    except (RecursionError, ValueError):
        message = "nested too deep, or a number of too many digits; give the config.json of a checkpoint"
        raise error_at(file, message, "json") from None
    return Source(file, text, data, {}, {(): Mark(file, 1, 1)})


def read_model(source: Source, name: str) -> ReadModel:
    """Return the model part of a configuration; `name` is that of the model, which the file does not have.

    Raises PlanErrors for data that are no configuration of a language model.
    """
    config = _language_part(source)
    data: dict[str, Any] = {"name": name}
    data |= _shape(config)
    if vision := _vision(config):
        data["vision_parameters"] = vision
    is_known = config.kind in read_data(TYPES)["types"]
    data |= {"confidence": "high" if is_known else "low", "source": ["config"]}
    data["sources"] = {"config": {"title": f"{source.file}, configuration of model_type {config.kind or 'unknown'}"}}
    described = source._replace(data=data, values=source.values | dict(_marks(config, data)))
    if problems := schema.check_schema(described, MODEL, schema_of_file):
        raise PlanErrors(problems)
    record = Record(MODEL, name, described, (), built_in=False)
    model = part_records.model(record)
    message = f"model_type '{config.kind}' is not known; read like the Llama family: check `parameters`"
    warnings = () if is_known else (config.problem("model_type", message, "model-config", "warning"),)
    return ReadModel(data, int(model.parameters.value), int(model.active_parameters.value), warnings)


def _marks(config: _Config, data: dict[str, Any]) -> Iterator[tuple[Path, Mark]]:
    """Yield the mark of each number that the configuration has for a key of the catalogue."""
    for key in data:
        name = next((name for name in _names_of(key) if name in config.data), None)
        if name:
            yield (key,), config.problem(name, "").mark


def part_file(model: ReadModel) -> bytes:
    """Return a model part as the text of its file."""
    total, active = (f"{count / BILLION:.1f}" for count in (model.parameters, model.active_parameters))
    lines = [f"# {total} billion parameters, {active} active, counted from the keys below by bomgen"]
    lines += [f"{key}: {_written(value)}" for key, value in model.data.items()]
    return "\n".join([*lines, ""]).encode("utf-8", "replace")


def _written(value: Any) -> str:
    """Return a value as YAML: text quoted if needed, other values as JSON."""
    return write_scalar(value, flow=False) if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _names_of(key: str) -> Sequence[str]:
    """Return the keys of configurations that mean a key of a model part; the key itself if it is not listed."""
    names: Sequence[str] = read_data(TYPES)["shape"].get(key) or read_data(TYPES)["sizes"].get(key) or (key,)
    return names


class _Config(NamedTuple):
    """A mapping of a configuration, with functions that read its values."""

    source: Source
    data: dict[str, Any]
    whole: dict[str, Any]
    """The configuration that it is part of."""

    @property
    def kind(self) -> str:
        """Return the `model_type`; empty unless it is a word."""
        word = self.text("model_type")
        return word if _WORD.fullmatch(word) else ""

    @property
    def defaults(self) -> Mapping[str, Any]:
        """Return what its library assumes for its type."""
        defaults: Mapping[str, Any] = read_data(TYPES)["types"].get(self.kind, {})
        return defaults

    def problem(
        self, key: str, message: str, rule: str = "model-config", severity: Literal["error", "warning"] = "error"
    ) -> Problem:
        """Return a problem at a key."""
        before, quoted_key, _ = self.source.text.partition(f'"{key}"')
        mark = Mark(self.source.file, before.count("\n") + 1, len(before) - before.rfind("\n")) if quoted_key else None
        return Problem(mark or self.source.mark(()), severity, message, rule)

    def count(self, *keys: str) -> int:
        """Return the number at the first of these keys that has one; 0 for none. Raises PlanErrors for other data."""
        for name in chain.from_iterable(map(_names_of, keys)):
            value = self.data.get(name)
            if value is None:
                continue
            if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= MAX_COUNT:
                message = f"{name} is not a whole number of 0 to {MAX_COUNT}; give an unchanged config.json"
                raise PlanErrors([self.problem(name, message)])
            if value:
                return value
        return 0

    def is_true(self, name: str) -> bool:
        """Return whether a key is true."""
        return self.data.get(name) is True

    def text(self, name: str) -> str:
        """Return the text at a key; empty for other data."""
        value = self.data.get(name, self.whole.get(name))
        return value if isinstance(value, str) else ""

    def items(self, name: str) -> list[Any]:
        """Return the list at a key; empty for other data."""
        value = self.data.get(name)
        return value if isinstance(value, list) else []

    def below(self, name: str) -> _Config:
        """Return the mapping at a key; empty for other data."""
        value = self.data.get(name)
        return self._replace(data=value if isinstance(value, dict) else {})


def _language_part(source: Source) -> _Config:
    """Return the configuration of the language model. Raises PlanErrors if there is none."""
    whole = source.data
    if isinstance(whole, dict):
        config = _Config(source, whole, whole)
        config = next((config.below(key) for key in LANGUAGE_PARTS if config.below(key).data), config)
        if (config.count("layers") or config.items(BLOCK_TYPES)) and config.count("hidden"):
            return config
    message = "no configuration of a language model: `num_hidden_layers` and `hidden_size` are missing; "
    message += "give the config.json of a checkpoint in the form of Hugging Face"
    raise error_at(source.mark(()), message, "model-config")


def _shape(config: _Config) -> dict[str, Any]:
    """Return the shape under the keys of the catalogue, without those that are unknown."""
    if config.data.get("block_configs"):
        message = "layers of different sizes are not counted; write a part file with `parameters`"
        raise PlanErrors([config.problem("block_configs", message)])
    shape: dict[str, Any] = {"type": "dense"}
    shape |= {key: count for key in read_data(TYPES)["shape"] if (count := config.count(key))}
    shape.setdefault("layers", len(config.items(BLOCK_TYPES)))
    shape |= dict(_structure(config))
    for part in (_feed_forward, _windows, _states, _latent, _sparse, _checkpoint):
        shape |= dict(part(config, shape))
    return {key: value for key, value in shape.items() if value is not None}


Pairs = Iterator[tuple[str, Any]]


def _structure(config: _Config) -> Pairs:
    kind, defaults, tied = (
        config.kind,
        config.defaults,
        config.data.get("tie_word_embeddings", config.whole.get("tie_word_embeddings")),
    )
    yield "tied", tied if isinstance(tied, bool) else "tied" in defaults
    yield from ((key, defaults[key]) for key in ("mlp", "norm") if key in defaults)
    bias = "all" if config.is_true("mlp_bias") or kind == "gpt_oss" else "qkv"
    if config.is_true("attention_bias") and not config.count("kv_lora_rank"):
        yield "bias", bias
    elif "bias" in defaults:
        yield "bias", defaults["bias"]
    learned = kind != "llama4_text" and config.text("qk_norm_type") != "per_layer"
    if "qk_norm" in defaults or (config.is_true("use_qk_norm") and learned):
        yield "qk_norm", True
    if config.is_true("attn_output_gate") or config.is_true("mla_use_output_gate") or "output_gate" in defaults:
        yield "output_gate", True
    if config.is_true("attention_k_eq_v"):
        yield "attention_k_eq_v", True
    if norms := defaults.get("norms_per_layer"):
        beside = kind == "gemma4_text" and config.count("experts")
        yield "norms_per_layer", NORMS_BESIDE_EXPERTS if beside else norms
    if kind == "falcon" and config.is_true("multi_query") and not config.is_true("new_decoder_architecture"):
        yield "kv_heads", 1


def _feed_forward(config: _Config, shape: dict[str, Any]) -> Pairs:
    experts, block = config.count("experts"), config.count("ffn") or BLOCK_WIDTH * shape["hidden"]
    yield "type", "moe" if experts else "dense"
    if not experts:
        yield "ffn", block
        return
    yield "experts", experts
    yield "topk", config.count("topk")
    of_expert = config.count("ffn_expert") or block
    yield "ffn_expert", of_expert
    dense = min(_dense_layers(config, shape["layers"]), shape["layers"])
    yield "dense_layers", dense
    yield "ffn_dense", config.count("dense_intermediate_size", "intermediate_size_mlp") or block if dense else 0
    shared, of_shared = config.count("shared"), config.count("ffn_shared")
    if config.kind == "gemma4_text":
        of_shared = block
    yield "shared", shared or int(bool(of_shared) or config.kind == "llama4_text")
    if of_shared and of_shared != of_expert * max(shared, 1):
        yield "ffn_shared", of_shared
    biased = any(map(config.is_true, ("use_routing_bias", "use_moe_router_bias", "moe_router_enable_expert_bias")))
    if biased or "router_bias" in config.defaults or config.text("topk_method") == "noaux_tc":
        yield "router_bias", True


def _dense_layers(config: _Config, layers: int) -> int:
    """Return the number of dense layers of a mixture of experts."""
    if config.kind == "nemotron_h":
        return 0
    if frequency := config.items("moe_layer_freq"):
        return frequency.count(0)
    if kinds := config.items("mlp_layer_types"):
        return kinds.count("dense")
    if first := config.count("first_k_dense_replace"):
        return first
    step = config.count("interleave_moe_layer_step", "decoder_sparse_step") or 1
    listed = {layer for layer in config.items("mlp_only_layers") if isinstance(layer, int)}
    return layers - layers // step + sum(0 < layer + 1 <= layers and not (layer + 1) % step for layer in listed)


def _windows(config: _Config, shape: dict[str, Any]) -> Pairs:
    window, layers, kind = config.count("sliding_window"), shape["layers"], config.kind
    if config.items("compress_ratios"):
        yield "window", window or None
        return
    if kind == "llama4_text" and (chunk := config.count("attention_chunk_size")):
        yield from (("window", chunk), ("window_layers", layers - layers // EACH_FOURTH), ("chunked", True))
        return
    if not window or config.data.get("use_sliding_window") is False:
        return
    kinds, pattern = config.items("layer_types"), config.items("hybrid_layer_pattern")
    every = config.count("sliding_window_pattern") or config.defaults.get("sliding_every")
    if kinds or pattern:
        sliding = kinds.count(SLIDING) or pattern.count(1)
    elif every:
        sliding = layers - layers // every
    else:
        sliding = layers if window < shape.get("context", MAX_COUNT) else 0
    if sliding:
        yield "window", window
        if heads := config.count("swa_num_key_value_heads"):
            yield from (("kv_heads", heads), ("global_kv_heads", shape.get("kv_heads")))
        if sliding < layers:
            yield "window_layers", sliding


def _states(config: _Config, shape: dict[str, Any]) -> Pairs:
    pattern = config.items(BLOCK_TYPES) or list(config.text("hybrid_override_pattern"))
    if config.kind == "nemotron_h" and pattern:
        linear = pattern.count("M") + pattern.count("mamba")
        blocks = len(pattern) - linear - pattern.count("*") - pattern.count("attention")
        yield from (("norms_per_layer", 1), ("ffn_layers", blocks))
        yield from _state(linear, [config.count(size) for size in _MAMBA])
    elif kda := config.below("linear_attn_config"):
        linear, heads, width = len(kda.items("kda_layers")), kda.count("num_heads"), kda.count("head_dim")
        if linear:
            yield from _state(linear, [heads, width, heads, width, kda.count("short_conv_kernel_size")])
            yield "linear_gate_rank", None if kda.is_true("use_full_rank_gate") else width
    if "output_gate" in config.defaults:
        every = config.count("full_attention_interval") or EACH_FOURTH
        linear = config.items("layer_types").count(LINEAR) or shape["layers"] - shape["layers"] // every
        yield from _state(linear, [config.count(size) for size in _DELTA_NET])


def _state(layers: int, sizes: Sequence[int]) -> Pairs:
    """Yield the keys of layers with a state; `sizes` are those of keys, values and convolution."""
    yield "linear_layers", layers
    keys = ("linear_key_heads", "linear_key_head_dim", "linear_value_heads", "linear_value_head_dim")
    yield from zip((*keys, "linear_conv_kernel"), (size or None for size in sizes), strict=True)


def _latent(config: _Config, shape: dict[str, Any]) -> Pairs:
    rotary, rank = config.count("qk_rope_head_dim"), config.count("kv_lora_rank")
    if rank:
        yield from (("mla", True), ("kv_lora_rank", rank), ("rope_head_dim", rotary))
        yield "head_dim", config.count("qk_nope_head_dim") + rotary
        yield "v_head_dim", config.count("v_head_dim") or None
        yield "kv_heads", shape.get("heads")
    else:
        values = config.count("v_head_dim")
        yield "v_head_dim", values if values and values != shape.get("head_dim") else None
        yield "q_lora_rank", shape.get("q_lora_rank") if rotary else None
        yield "rope_head_dim", rotary or None


def _sparse(config: _Config, shape: dict[str, Any]) -> Pairs:
    blocks, chosen = config.below("sparse_attention_config"), config.items("indexer_types").count("full")
    ratios = [ratio for ratio in config.items("compress_ratios")[: shape["layers"]] if isinstance(ratio, int) and ratio]
    if chosen and chosen < shape["layers"]:
        yield "index_layers", chosen
    if ratios:
        low, high = min(ratios), max(ratios)
        yield from (("csa_layers", ratios.count(low)), ("compress_rate_csa", low))
        yield from (("hca_layers", ratios.count(high)), ("compress_rate_hca", high))
    if blocks.is_true("use_sparse_attention"):
        yield "index_topk", blocks.count("sparse_topk_blocks") * blocks.count("sparse_block_size")
        yield "index_heads", blocks.count("sparse_num_index_heads")
        yield "index_head_dim", blocks.count("sparse_index_dim")
        yield "sparse_layers", blocks.items("sparse_attention_freq").count(1)


def _vision(config: _Config) -> int:
    """Return the parameters of the vision tower of a model and its projector; 0 without one, or if it is not known."""
    whole = config._replace(data=config.whole)
    tower = whole.below("vision_config")
    model_type = tower.data.get("model_type")
    kind = model_type if isinstance(model_type, str) and model_type else whole.kind
    listed = len(tower.items("deepstack_visual_indexes"))
    return vision_parameters(kind, tower.count, whole.count, config.count("hidden"), listed)


def _checkpoint(config: _Config, shape: dict[str, Any]) -> Pairs:
    whole = config._replace(data=config.whole)
    stored = (whole if "quantization_config" in whole.data else config).below("quantization_config")
    stored_format, of_experts = _format_of_checkpoint(stored), format_of_experts(stored.data)
    if config.text("expert_dtype") == "fp4":
        yield "eight_bits_rest", stored_format == "fp8"
        stored_format = "mxfp4"
        if not of_experts:
            yield "checkpoint", stored_format
            return
    if stored_format := of_experts or stored_format:
        yield "checkpoint", stored_format
        kept = formats_of_parts(stored.data, stored_format, _layers_of_parts(shape))
        experts_only = shape["type"] == "moe" and stored_format in FOUR_BITS
        kept = {
            part: format
            for part, format in kept.items()
            if (format != "bf16" if part == "head" else format != stored_format or experts_only)
        }
        if facts := kept | (scales(stored.data) if stored_format in INTEGERS else {}):
            yield "checkpoint_formats", {stored_format: facts}


def _format_of_checkpoint(stored: _Config) -> str | None:
    method, algorithm = stored.text("quant_method"), stored.text("quant_algo").lower()
    weights = next(iter(stored.below("config_groups").data.values()), None)
    weights = weights.get("weights") if isinstance(weights, dict) else None
    stored_format = {"fp8": "fp8", "mxfp4": "mxfp4", "awq": "awq", "gptq": "gptq"}.get(method)
    if method in ("", "modelopt"):
        stored_format = {"fp8": "fp8", "nvfp4": "nvfp4"}.get(algorithm)
    elif method == "compressed-tensors" and isinstance(weights, dict):
        stored_format = _STORED.get(f"{weights.get('type')} {weights.get('num_bits')}")
        stored_format = "mxfp4" if stored_format == "nvfp4" and "mxfp4" in stored.text("format") else stored_format
    return stored_format


def _layers_of_parts(shape: dict[str, Any]) -> dict[str, int]:
    """Return the number of layers that have each part of a model, without parts that it lacks."""
    layers, state, blocks = (shape.get(key) or 0 for key in ("layers", "linear_layers", "ffn_layers"))
    dense = shape.get("dense_layers") or 0 if shape["type"] == "moe" else blocks or layers
    with_attention = layers - state - blocks
    shared = (blocks or layers) - dense if shape.get("shared") else 0
    by_part = {"attention": with_attention, "output": with_attention, "linear": state, "shared": shared, "dense": dense}
    return {part: number for part, number in by_part.items() if number > 0}
