"""What quantised checkpoints keep in 16 or 8 bits, as their configurations say and the catalogue's records know."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.reading.model_config import part_file, read_config, read_model

NOT_FORMATS = ("source", "confidence", "note", "module")
EXPERTS = {
    **{"model_type": "qwen3_moe", "num_hidden_layers": 12, "hidden_size": 512, "num_attention_heads": 8},
    **{"num_experts": 16, "num_experts_per_tok": 2, "moe_intermediate_size": 128, "vocab_size": 1000},
}
LATENT = EXPERTS | {
    **{"model_type": "deepseek_v3", "first_k_dense_replace": 3, "n_shared_experts": 1, "intermediate_size": 1024},
    **{"kv_lora_rank": 64, "q_lora_rank": 128, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32},
}
MIXED = EXPERTS | {
    **{"model_type": "qwen3_5_moe_text", "shared_expert_intermediate_size": 128, "linear_num_key_heads": 4},
    **{"linear_key_head_dim": 32, "linear_num_value_heads": 8, "linear_value_head_dim": 32},
    "linear_conv_kernel_dim": 4,
}
DENSE = {key: value for key, value in EXPERTS.items() if "expert" not in key} | {"model_type": "llama"}
DENSE |= {"intermediate_size": 1024}
LAYERS = range(12)
MODELOPT = {"quant_method": "modelopt", "quant_algo": "NVFP4", "group_size": 16}
PACKED = {"config_groups": {"group_0": {"weights": {"num_bits": 4, "type": "int", "group_size": 32}}}}


def each(name: str, layers: range = LAYERS) -> list[str]:
    """The names of a module in these layers."""
    return [name.replace("N", str(layer)) for layer in layers]


def stored_in(algorithm: str, name: str) -> dict[str, dict[str, str]]:
    """The format of a module in every layer."""
    return {module: {"quant_algo": algorithm} for module in each(name)}


CASES: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "glm-5.1": (
        LATENT,
        MODELOPT
        | {
            "ignore": [
                "lm_head",
                *each("model.layers.N*", range(3)),
                "model.layers.78.*",
                *each("model.layers.N.self_attn*", range(3, 12)),
                *each("model.layers.N.mlp.shared_experts*", range(3, 12)),
            ]
        },
        "nvfp4",
    ),
    "deepseek-v3.1": (
        LATENT,
        MODELOPT
        | {
            "exclude_modules": [
                "lm_head",
                "model.layers.61*",
                *each("model.layers.N.self_attn.q_a_proj"),
                *each("model.layers.N.self_attn.q_b_proj"),
                *each("model.layers.N.self_attn.kv_b_proj"),
            ]
        },
        "nvfp4",
    ),
    "kimi-k2.5": (
        LATENT,
        {
            **{"quant_method": "compressed-tensors", "format": "pack-quantized", **PACKED},
            "ignore": [
                *("lm_head", "re:.*self_attn.*", "re:.*shared_experts.*"),
                "re:.*mlp\\.(gate|up|gate_up|down)_proj.*",
            ],
        },
        "int4",
    ),
    "qwen3.5-122b-a10b": (
        MIXED,
        {
            **{"quant_method": "gptq", "bits": 4, "group_size": 128, "sym": True},
            "dynamic": {"lm_head": {}, "-:.*attn.*": {}, "-:.*shared_expert.*": {}, "-:.*mtp.*": {}},
        },
        "gptq",
    ),
    "qwen3.6-35b-a3b": (
        MIXED,
        {
            **{"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"},
            "quantized_layers": {
                **stored_in("FP8", "layers.N.linear_attn.in_proj_qkv"),
                **stored_in("FP8", "layers.N.self_attn.q_proj"),
                **stored_in("FP8", "layers.N.self_attn.o_proj"),
                **stored_in("W4A16_NVFP4", "layers.N.mlp.experts"),
                **stored_in("W4A16_NVFP4", "layers.N.mlp.shared_expert.up_proj"),
                "lm_head": {"quant_algo": "W4A16_NVFP4"},
            },
        },
        "nvfp4",
    ),
    "mimo-v2.5-pro": (
        EXPERTS,
        {"quant_method": "fp8", "ignored_layers": each("model.layers.N.self_attn.o_proj")},
        "fp8",
    ),
}
"""Records, and configurations with fewer layers whose lists are worded like those of the checkpoints."""


def read(config: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """The part of a quantised checkpoint, as its file says."""
    source = read_config(json.dumps(config | {"quantization_config": stored}), "config.json")
    found: dict[str, Any] = yaml.safe_load(part_file(read_model(source, "acme")))
    return found


@pytest.mark.parametrize("id", CASES)
def test_a_configuration_says_what_the_record_knows(id: str) -> None:
    """Parts that are not in the record have the default of its attention, or of the format."""
    config, stored, format = CASES[id]
    found = read(config, stored)
    assert found["checkpoint"] == format
    facts = found["checkpoint_formats"][format]
    record = Catalog().find("model", id).value("checkpoint_formats")[format]
    assert {key: facts.get(key) for key in record if key not in NOT_FORMATS} == {
        key: value for key, value in record.items() if key not in NOT_FORMATS
    }


@pytest.mark.parametrize(
    ("stored", "facts"),
    [
        ({"quant_method": "fp8", "modules_to_not_convert": ["lm_head", "gate"]}, None),
        ({"quant_method": "awq", "bits": 4, "group_size": 64, "zero_point": True}, {"group": 64, "scale_bytes": 2.5}),
        ({"quant_method": "awq", "group_size": -1}, None),
        (MODELOPT, None),
        (MODELOPT | {"ignore": ["lm_head"]}, None),
        (MODELOPT | {"ignore": 5, "dynamic": [1], "quantized_layers": {"a": 1}}, None),
        (MODELOPT | {"ignore": ["model.layers." + "9" * 5000 + ".self_attn*", 7, None]}, None),
    ],
)
def test_a_dense_model(stored: dict[str, Any], facts: dict[str, Any] | None) -> None:
    """Nothing where all matrices have the format, whatever the lists hold; groups of integers."""
    found = read(DENSE, stored).get("checkpoint_formats")
    assert found == (None if facts is None else {stored["quant_method"]: facts})


def test_a_part_made_of_a_configuration_is_read_back(tmp_path: Any) -> None:
    """With its facts of the checkpoint."""
    config, stored, format = CASES["kimi-k2.5"]
    (tmp_path / "model").mkdir()
    source = read_config(json.dumps(config | {"quantization_config": stored}), "config.json")
    (tmp_path / "model" / "acme.yaml").write_bytes(part_file(read_model(source, "acme")))
    model = part_records.model(Catalog((tmp_path,)).find("model", "acme"))
    kept = model.checkpoint_formats[format]
    assert kept.group is not None
    assert (kept.group.value, kept.parts["shared"]) == (32, "bf16")
