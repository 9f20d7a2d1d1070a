"""What a quantised checkpoint keeps in more bits than its format, from `quantization_config` of its configuration.

Each tool has its own words: `modules_to_not_convert` (Transformers), `ignore` (compressed-tensors, ModelOpt),
`ignored_layers`, `dynamic` (GPTQModel), or the format of every module (`quantized_layers` of ModelOpt). Modules are
distinguished by their names in Transformers; a part counts as kept when most of its layers are named, or all by a
pattern.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from bomgen.catalog.parts import ATTENTION, DENSE, EIGHT_BITS, HEAD, LINEAR, OUTPUT, SHARED, SIXTEEN_BITS

"""Parts of a model, as `checkpoint_formats` of a part file names them."""
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
        found = {part: _most_frequent(modules, _PARTS[part], rest) for part in layers}
        return found | {HEAD: _most_frequent(modules, _PARTS[HEAD], SIXTEEN_BITS)}
    kept = [_plain(name) for name in _kept_names(stored)]
    found = {part: SIXTEEN_BITS if _is_kept(part, kept, layers) else format for part in layers}
    return found | {HEAD: SIXTEEN_BITS} if kept else {}


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
    found = [_ALGORITHMS.get(algorithm, rest) for name, algorithm in modules if re.search(pattern, name)]
    return max(found, key=found.count, default=rest)
