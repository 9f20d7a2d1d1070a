"""Parameters of vision towers from the published configurations, beside published totals."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.reading.model_config import read_config, read_model

TEXT = {"model_type": "llama", "num_hidden_layers": 1, "num_attention_heads": 1, "vocab_size": 10}
QWEN3_VL = {
    **{"depth": 27, "hidden_size": 1152, "intermediate_size": 4304, "in_channels": 3, "num_heads": 16},
    **{"num_position_embeddings": 2304, "out_hidden_size": 4096, "patch_size": 16, "spatial_merge_size": 2},
    **{"temporal_patch_size": 2, "deepstack_visual_indexes": [8, 16, 24]},
}
GLM_4_5V = {
    **{"model_type": "glm4v_moe_vision", "depth": 24, "hidden_size": 1536, "image_size": 336, "in_channels": 3},
    **{"intermediate_size": 10944, "num_heads": 12, "out_hidden_size": 4096, "patch_size": 14},
    **{"spatial_merge_size": 2, "temporal_patch_size": 2},
}
KIMI_K2_5 = {
    **{"init_pos_emb_height": 64, "init_pos_emb_time": 4, "init_pos_emb_width": 64, "merge_kernel_size": [2, 2]},
    **{"mm_hidden_size": 1152, "patch_size": 14, "text_hidden_size": 7168, "vt_hidden_size": 1152},
    **{"vt_intermediate_size": 4304, "vt_num_attention_heads": 16, "vt_num_hidden_layers": 27, "model_type": ""},
}
KIMI_K3 = {
    **KIMI_K2_5,
    **{"mm_hidden_size": 1024, "qkv_hidden_size": 1536, "vt_hidden_size": 1024, "vt_intermediate_size": 4096},
}
PIXTRAL = {
    **{"model_type": "pixtral", "hidden_size": 1024, "image_size": 1540, "intermediate_size": 4096},
    **{"num_attention_heads": 16, "num_channels": 3, "num_hidden_layers": 24, "patch_size": 14},
}
SIGLIP = {
    **{"model_type": "siglip_vision_model", "hidden_size": 1152, "image_size": 896, "intermediate_size": 4304},
    **{"num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 14},
}
GEMMA_4 = {
    **{"model_type": "gemma4_vision", "hidden_size": 1152, "head_dim": 72, "intermediate_size": 4304},
    **{"num_attention_heads": 16, "num_hidden_layers": 27, "patch_size": 16, "position_embedding_size": 10240},
}
LLAMA_4 = {
    **{"model_type": "llama4_vision_model", "hidden_size": 1408, "image_size": 336, "intermediate_size": 5632},
    **{"num_attention_heads": 16, "num_hidden_layers": 34, "patch_size": 14, "projector_input_dim": 4096},
    **{"projector_output_dim": 4096, "vision_output_dim": 4096},
}
INTERN_VIT = {
    **{"model_type": "intern_vit_6b", "hidden_size": 1024, "image_size": 448, "intermediate_size": 4096},
    **{"num_attention_heads": 16, "num_hidden_layers": 24, "patch_size": 14},
}
MIMO_VL = {
    **{"model_type": "qwen2_5_vl", "depth": 32, "hidden_size": 1280, "intermediate_size": 3456, "num_heads": 16},
    **{"out_hidden_size": 4096, "patch_size": 14, "spatial_merge_size": 2, "temporal_patch_size": 2},
}
TOWERS: dict[str, tuple[dict[str, Any], int, dict[str, Any]]] = {
    "qwen3-vl-8b": (QWEN3_VL, 4096, {}),
    "glm-4.5v": (GLM_4_5V, 4096, {}),
    "kimi-k2.5": (KIMI_K2_5, 7168, {"model_type": "kimi_k25"}),
    "kimi-k3": (KIMI_K3, 7168, {"model_type": "kimi_k3"}),
    "mistral-small-3.2-24b": (PIXTRAL, 5120, {"spatial_merge_size": 2}),
    "gemma-3-27b": (SIGLIP, 5376, {}),
    "gemma-4-31b": (GEMMA_4, 5376, {}),
    "gemma-4-26b-a4b": (GEMMA_4, 2816, {}),
    "llama-4-scout": (LLAMA_4, 5120, {}),
    "llama-4-maverick": (LLAMA_4, 5120, {}),
    "internvl3.5-8b": (INTERN_VIT, 4096, {}),
    "mimo-vl-7b": (MIMO_VL, 4096, {}),
}
"""Configurations of the towers, the width of the language model, and other keys of the whole configuration."""
PUBLISHED = {
    "qwen3-vl-8b": 8_767_123_696,
    "glm-4.5v": 107_710_933_120,
    "mistral-small-3.2-24b": 24_011_361_280,
    "gemma-3-27b": 27_432_406_640,
    "gemma-4-31b": 31_273_088_876,
    "gemma-4-26b-a4b": 25_805_936_206,
    "llama-4-scout": 217_283_738_720 // 2,
    "internvl3.5-8b": 8_528_318_464,
}
"""All weights in the files of the checkpoint: sizes of tensors, of files in 16 bits, or counts of Hugging Face."""
TOLERANCE = 1e-4


@pytest.mark.parametrize("id", TOWERS)
def test_a_tower_counts_as_that_of_the_catalogue(id: str) -> None:
    """From its configuration, to the last parameter."""
    tower, hidden, more = TOWERS[id]
    config = {**more, "text_config": TEXT | {"hidden_size": hidden}, "vision_config": tower}
    found = read_model(read_config(json.dumps(config), "config.json"), "seeing")
    assert found.data["vision_parameters"] == Catalog().find("model", id).value("vision_parameters")


@pytest.mark.parametrize("id", PUBLISHED)
def test_tower_and_language_model_are_the_published_total(id: str) -> None:
    """Scalars of single layers are not counted."""
    model = part_records.model(Catalog().find("model", id))
    assert model.vision_parameters is not None
    total = model.parameters.value + model.vision_parameters.value
    assert float(total) == pytest.approx(PUBLISHED[id], rel=TOLERANCE)


def test_an_unknown_tower_is_left_out() -> None:
    """As is one without its sizes."""
    for tower in ({"model_type": "acme_vision", "hidden_size": 10}, {"model_type": "pixtral"}, {}):
        config = {"text_config": TEXT | {"hidden_size": 64}, "vision_config": tower}
        assert "vision_parameters" not in read_model(read_config(json.dumps(config), "config.json"), "seeing").data
