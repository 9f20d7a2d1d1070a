"""What a checkpoint stores beyond its format, from its configuration: parts in more bits, and vision towers.

Each tool of quantisation has its own words in `quantization_config`: `modules_to_not_convert` (Transformers), `ignore`
(compressed-tensors, ModelOpt), `ignored_layers`, `dynamic` (GPTQModel), or the format of every module
(`quantized_layers` of ModelOpt). Modules are distinguished by their names in Transformers; a part counts as kept when
most of its layers are named, or all by a pattern.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bomgen.catalog.parts import ATTENTION, DENSE, EIGHT_BITS, HEAD, LINEAR, OUTPUT, SHARED, SIXTEEN_BITS

_PARTS: Mapping[str, str] = {
    ATTENTION: r"(?:self_attn|(?<!linear_)attn|mixer)(?:\*|\.\*|$|\.(?:q_proj|q_a_proj|q_b_proj|qkv_proj|k_proj)\b)",
    OUTPUT: r"(?:self_attn|(?<!linear_)attn|mixer)(?:\*|\.\*|$|\.o_proj\b)",
    LINEAR: r"(?:linear_attn|(?<!self_)attn|mixer)(?:\*|\.\*|$|\.(?:in_proj(?:_qkvz?)?|out_proj)\b)",
    SHARED: r"shared_experts?(?:\*|\.\*|$|\.(?:gate|up|down)_proj\b)",
    DENSE: r"mlp(?:\*|\.\*|$|\.(?:gate|up|down)_proj\b|\.\((?:gate|up|gate_up|down|\|)+\)_proj)",
    HEAD: r"(?:^|\.)lm_head$",
}
"""Names of the modules of a part, from its layer on."""
_EXPERTS = r"(?<!shared_)(?:\bexperts\b|block_sparse_moe\.experts)"
_ALGORITHMS = {"FP8": "fp8", "MXFP8": "fp8", "NVFP4": "nvfp4", "W4A16_NVFP4": "nvfp4", "W4A8_NVFP4_FP8": "nvfp4"}
_LISTS = ("modules_to_not_convert", "ignore", "ignored_layers", "exclude_modules")
_LAYER = re.compile(r"\.[0-9]{1,6}(?=\.|\*|$)")
_NUMBER = re.compile(r"\.[0-9]")
_WHOLE_LAYER = re.compile(r"layers\.([0-9]{1,6})\.?\*$")
ZERO_POINT_BYTES = 0.5
SCALE_BYTES = 2
MAX_GROUP = 2**20
"""A group is at most a row of a matrix."""


def format_of_experts(stored: Mapping[str, Any]) -> str | None:
    """Return the format of the routed experts, or of the blocks of a dense model, where each module has its own."""
    for parts in (_EXPERTS, _PARTS["dense"]):
        for name, algorithm in _of_modules(stored):
            if re.search(parts, name) and algorithm in _ALGORITHMS:
                return _ALGORITHMS[algorithm]
    return _ALGORITHMS.get(str(stored.get("moe_quant_algo") or ""))


def formats_of_parts(stored: Mapping[str, Any], format: str, layers: Mapping[str, int]) -> dict[str, str]:
    """Return the format of each part; empty if no module is named.

    `layers` has the number of layers with a part, for the parts that a model has.
    """
    if modules := list(_of_modules(stored)):
        rest = EIGHT_BITS if stored.get("quant_method") == EIGHT_BITS else SIXTEEN_BITS
        formats = {part: _most_frequent(modules, _PARTS[part], rest) for part in layers}
        return formats | {HEAD: _most_frequent(modules, _PARTS[HEAD], SIXTEEN_BITS)}
    kept = [_plain(name) for name in _kept_names(stored)]
    formats = {part: SIXTEEN_BITS if _is_kept(part, kept, layers) else format for part in layers}
    return formats | {HEAD: SIXTEEN_BITS} if kept else {}


def _is_kept(part: str, kept: list[str], layers: Mapping[str, int]) -> bool:
    """Return whether most layers with a part are named, or all by a pattern."""
    pattern = _PARTS[part]
    if part == SHARED and DENSE not in layers:
        pattern = f"{pattern}|{_PARTS[DENSE]}"  # the dense block beside the experts of Gemma 4
    named = [name for name in kept if re.search(pattern, _LAYER.sub("", name))]
    # Kimi's layers with a state are called self_attn, too.
    everywhere = [*named, *kept] if part == LINEAR else named
    wide = f"{pattern}|{_PARTS[ATTENTION]}" if part == LINEAR else pattern
    if any(re.search(wide, name) for name in everywhere if not _NUMBER.search(name)):
        return True
    numbers = {int(layer[0][1:]) for name in named if (layer := _LAYER.search(name))}
    if part == DENSE:
        whole = {int(layer[1]) for name in kept if (layer := _WHOLE_LAYER.search(name))}
        numbers |= {number for number in whole if number < layers[part]}
    return 2 * len(numbers) > layers[part]


def scales(stored: Mapping[str, Any]) -> dict[str, float]:
    """Return the group of values that share a scale in 4-bit integers, and the bytes of the scale; empty if unknown."""
    weights = next(_groups(stored), stored)
    group = weights.get("group_size", weights.get("q_group_size"))
    if not isinstance(group, int) or isinstance(group, bool) or not 1 <= group <= MAX_GROUP:
        return {}
    # GPTQ stores zero points even of symmetric scales.
    pointed = stored.get("quant_method") == "gptq" or stored.get("zero_point") is True
    pointed = pointed or weights.get("symmetric") is False
    return {"group": group, "scale_bytes": SCALE_BYTES + ZERO_POINT_BYTES if pointed else SCALE_BYTES}


def _groups(stored: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    groups = stored.get("config_groups")
    for group in groups.values() if isinstance(groups, dict) else ():
        weights = group.get("weights") if isinstance(group, dict) else None
        if isinstance(weights, dict):
            yield weights


def _kept_names(stored: Mapping[str, Any]) -> Iterator[str]:
    for key in _LISTS:
        names = stored.get(key)
        yield from (name for name in names if isinstance(name, str)) if isinstance(names, list) else ()
    dynamic = stored.get("dynamic")
    for name in dynamic if isinstance(dynamic, dict) else ():
        if not name.startswith("+:"):
            yield name.removeprefix("-:")


def _plain(name: str) -> str:
    """Return the name of a module without the marks of a regular expression."""
    return name.removeprefix("re:").removeprefix(".*").replace("\\.", ".").replace(".*", "*").rstrip("$")


def _of_modules(stored: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    layers = stored.get("quantized_layers")
    for name, algorithm in layers.items() if isinstance(layers, dict) else ():
        if isinstance(algorithm, dict):
            yield _LAYER.sub("", name), str(algorithm.get("quant_algo"))


def _most_frequent(modules: list[tuple[str, str]], pattern: str, rest: str) -> str:
    formats = [_ALGORITHMS.get(algorithm, rest) for name, algorithm in modules if re.search(pattern, name)]
    return max(formats, key=formats.count, default=rest)


# vision towers --------------------------------------------------------------------------------------------------------
# The parameters of vision towers, with what projects their outputs to the language model, from `vision_config`.
# A tower embeds patches and their positions, and passes them through transformer blocks. Kinds differ in biases, gates
# and norms, and in the projector; each is counted as its class in Hugging Face Transformers or its own code builds it,
# and `tests/reading/test_vision_towers.py` compares the counts with published totals.

Count = Callable[..., int]
"""Returns the number at the first of some keys of a configuration; 0 for none."""

COLOURS = 3
QUERIES_KEYS_VALUES = 3
GATED, PLAIN = 3, 2
"""Matrices of a feed-forward block."""
SCALE, SCALE_AND_SHIFT = 1, 2
"""Values of a norm per element."""


def vision_parameters(kind: str, tower: Count, model: Count, hidden: int, listed: int) -> int:
    """Return the parameters of a vision tower and its projector; 0 for incomplete sizes.

    A kind that is not listed is counted like Qwen3-VL's, if it has all of its sizes.

    `model` reads the configuration of the whole model and `hidden` is the width of its language model. `listed` is the
    number of layers behind which Qwen3-VL has further projectors.
    """
    count_parameters = _BY_KIND.get(kind)
    if count_parameters is not None:
        width, inner, layers = (tower(*names) for names in (_WIDTH, _INNER, _LAYERS))
        return count_parameters(tower, model, hidden) if width and inner and layers and tower("patch_size") else 0
    return _qwen3_vl(tower, listed)


_WIDTH = ("hidden_size", "vt_hidden_size")
_INNER = ("intermediate_size", "vt_intermediate_size")
_LAYERS = ("num_hidden_layers", "vt_num_hidden_layers", "depth")


def _blocks(tower: Count, *, matrices: int, norms: int, biased: bool, extra: int = 0, inner: int = 0) -> int:
    """Return the parameters of all blocks; `norms` and `extra` are counted in hidden sizes."""
    hidden, inner = tower(*_WIDTH), inner or tower(*_INNER)
    heads = tower("qkv_hidden_size") or hidden
    attention = QUERIES_KEYS_VALUES * hidden * heads + heads * hidden
    weights = attention + matrices * hidden * inner + (norms + extra) * hidden
    biases = QUERIES_KEYS_VALUES * heads + hidden + (matrices - 1) * inner + hidden
    return tower(*_LAYERS) * (weights + biases * biased)


def _patches(tower: Count, *, frames: int = 1) -> int:
    """Return the weights that embed a patch."""
    return COLOURS * frames * tower("patch_size") ** 2 * tower(*_WIDTH)


def _positions(tower: Count) -> int:
    """Return the number of patches of an image."""
    size = tower("image_size") // tower("patch_size")
    return size * size


def _linear(inputs: int, outputs: int, *, biased: bool = True) -> int:
    return inputs * outputs + outputs * biased


def _qwen3_vl(tower: Count, listed: int) -> int:
    """Patches and positions, blocks with biases, and a projector behind the last block and those that are listed."""
    names = ("hidden_size", "intermediate_size", "depth", "out_hidden_size", "spatial_merge_size", "patch_size")
    if not all(map(tower, names)):
        return 0
    hidden, wide = tower("hidden_size"), tower("spatial_merge_size") ** 2 * tower("hidden_size")
    projector = _linear(wide, wide) + _linear(wide, tower("out_hidden_size"))
    blocks = _blocks(tower, matrices=PLAIN, norms=2 * SCALE_AND_SHIFT, biased=True)
    colours = tower("in_channels") or COLOURS
    patches = colours * tower("temporal_patch_size") * tower("patch_size") ** 2 * hidden
    embedded = patches + (1 + tower("num_position_embeddings")) * hidden
    return embedded + blocks + projector + SCALE_AND_SHIFT * (hidden + listed * wide) + listed * projector


def _qwen2_5_vl(tower: Count, _model: Count, hidden: int) -> int:
    """Blocks of gated matrices with biases and norms that scale; also MiMo-VL."""
    width, merged = tower("hidden_size"), (tower("spatial_merge_size") or 2) ** 2 * tower("hidden_size")
    blocks = _blocks(tower, matrices=GATED, norms=2 * SCALE, biased=True)
    out = tower("out_hidden_size") or hidden
    return _patches(tower, frames=2) + blocks + width + _linear(merged, merged) + _linear(merged, out)


def _glm4v(tower: Count, _model: Count, hidden: int) -> int:
    """Blocks as wide inside as the language model, a convolution that merges four patches, a gated projector."""
    width, out = tower("hidden_size"), tower("out_hidden_size") or hidden
    blocks = _blocks(tower, matrices=GATED, norms=2 * SCALE, biased=False, inner=out)
    embedded = _patches(tower, frames=2) + width + _positions(tower) * width
    merger = out * out + SCALE_AND_SHIFT * out + GATED * out * tower("intermediate_size")
    return embedded + blocks + 2 * width + _linear(2 * 2 * width, out) + merger


def _kimi(tower: Count, _model: Count, hidden: int) -> int:
    """MoonViT: learned positions, merged four by four."""
    width, positions = tower(*_WIDTH), tower("init_pos_emb_height") * tower("init_pos_emb_width")
    plain = bool(tower("qkv_hidden_size"))  # that of Kimi K3, without biases
    norm = SCALE if plain else SCALE_AND_SHIFT
    blocks = _blocks(tower, matrices=PLAIN, norms=2 * norm, biased=not plain)
    merged = 2 * 2 * width
    projector = _linear(merged, merged, biased=not plain) + _linear(merged, hidden, biased=not plain)
    embedded = _patches(tower) + width * (not plain) + positions * width
    return embedded + blocks + norm * width + projector + (hidden if plain else norm * width)


def _pixtral(tower: Count, model: Count, hidden: int) -> int:
    """Mistral 3: gated blocks without biases, and patches merged into one before two matrices."""
    width, merge = tower("hidden_size"), (model("spatial_merge_size") or 1) ** 2
    blocks = _blocks(tower, matrices=GATED, norms=2 * SCALE, biased=False)
    merger = width + merge * width * width if merge > 1 else 0
    return _patches(tower) + width + blocks + merger + width * hidden + hidden * hidden


def _siglip(tower: Count, _model: Count, hidden: int) -> int:
    """Gemma 3: SigLIP, a norm and one matrix to the language model."""
    width = tower("hidden_size")
    blocks = _blocks(tower, matrices=PLAIN, norms=2 * SCALE_AND_SHIFT, biased=True)
    embedded = _patches(tower) + width + _positions(tower) * width
    return embedded + blocks + SCALE_AND_SHIFT * width + width + width * hidden


def _gemma4(tower: Count, _model: Count, hidden: int) -> int:
    """Gated blocks with four norms, positions by row and column, one matrix to the language model."""
    width, of_head = tower("hidden_size"), 2 * tower("head_dim")
    blocks = _blocks(tower, matrices=GATED, norms=2 * 2 * SCALE, biased=False) + tower("num_hidden_layers") * of_head
    embedded = _patches(tower) + 2 * tower("position_embedding_size") * width
    return embedded + blocks + 2 * width + width * hidden


def _llama4(tower: Count, _model: Count, hidden: int) -> int:
    """Blocks with biases, a class token, pixels shuffled four by four through two matrices, and one more."""
    width, out = tower("hidden_size"), tower("vision_output_dim")
    blocks = _blocks(tower, matrices=PLAIN, norms=2 * SCALE_AND_SHIFT, biased=True)
    embedded = _patches(tower) + width + (_positions(tower) + 1) * width
    adapter = tower("intermediate_size") * tower("projector_input_dim") + tower("projector_output_dim") ** 2
    return embedded + blocks + 2 * SCALE_AND_SHIFT * width + adapter + out * hidden


def _intern_vit(tower: Count, _model: Count, hidden: int) -> int:
    """InternVL: a class token, blocks with two learned scales, pixels shuffled four by four through two matrices."""
    width, merged = tower("hidden_size"), 2 * 2 * tower("hidden_size")
    blocks = _blocks(tower, matrices=PLAIN, norms=2 * SCALE_AND_SHIFT, biased=True, extra=2)
    embedded = _patches(tower) + 2 * width + (_positions(tower) + 1) * width
    return embedded + blocks + SCALE_AND_SHIFT * merged + _linear(merged, hidden) + _linear(hidden, hidden)


_BY_KIND: Mapping[str, Callable[[Count, Count, int], int]] = {
    "qwen2_5_vl": _qwen2_5_vl,
    "glm4v": _glm4v,
    "glm4v_moe": _glm4v,
    "glm4v_moe_vision": _glm4v,
    "kimi_k25": _kimi,
    "kimi_k3": _kimi,
    "pixtral": _pixtral,
    "siglip_vision_model": _siglip,
    "gemma4_vision": _gemma4,
    "llama4_vision_model": _llama4,
    "intern_vit_6b": _intern_vit,
}
"""Towers by the `model_type` of their configuration, else of the whole model."""
