"""Matrices and parameters from shapes: names and sizes, what is active, and shapes that no model can have."""

# ruff: noqa: SIM300

from __future__ import annotations

import json
from typing import Any

import pytest

from bomgen.catalog import model_matrices, models, part_records
from bomgen.catalog.files import Catalog, inline_record
from bomgen.catalog.parts import Model
from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.yaml_source import read

CATALOG = Catalog()
DENSE = {"layers": 32, "hidden": 4096, "heads": 32, "ffn": 11008, "vocab": 32000}
MOE = {"layers": 4, "hidden": 64, "heads": 4, "ffn_expert": 32, "experts": 8, "topk": 2, "vocab": 100}
LATENT = {"mla": True, "head_dim": 24, "kv_lora_rank": 16, "rope_head_dim": 8, "v_head_dim": 16}


def described(**keys: Any) -> Model:
    """A model as a mapping of a plan describes it."""
    return part_records.model(inline_record("model", read(json.dumps({"model": keys}), "plan.yaml"), ("model",)))


def refused(**keys: Any) -> Problem:
    """The one problem of such a mapping."""
    with pytest.raises(PlanErrors) as caught:
        described(**keys)
    (problem,) = caught.value.problems
    return problem


def sizes(model: Model) -> dict[str, tuple[int, ...]]:
    """Inputs, outputs, copies and active copies of each matrix; of two of a name the experts' is marked."""
    found: dict[str, tuple[int, ...]] = {}
    for each in model_matrices.matrices(model) or ():
        name = f"expert {each.name}" if each.name in found else each.name
        found[name] = (each.inputs.value, each.outputs.value, each.count.value, each.active.value)
    return found


def catalogue(id: str) -> Model:
    """A model of the catalogue."""
    return part_records.model(CATALOG.find("model", id))


def test_matrices_of_llama_2_7b() -> None:
    """The modules that adapters target, with the sizes in the weight files."""
    square, up = (4096, 4096, 32, 32), (4096, 11008, 32, 32)
    attention = dict.fromkeys(("q_proj", "k_proj", "v_proj", "o_proj"), square)
    expected = {**attention, "gate_proj": up, "up_proj": up, "down_proj": (11008, 4096, 32, 32)}
    assert expected == sizes(catalogue("llama-2-7b"))


def test_grouped_queries_have_narrow_keys_and_values() -> None:
    """Llama 3.1 70B keeps keys and values of 8 heads of 128."""
    found = sizes(catalogue("llama-3.1-70b"))
    assert (8192, 8192, 80, 80) == found["q_proj"] == found["o_proj"]
    assert (8192, 1024, 80, 80) == found["k_proj"] == found["v_proj"]


def test_matrices_of_deepseek_v3() -> None:
    """Latent attention in two steps; 3 dense layers; 58 layers of 256 routed experts and one shared, 8 + 1 at work."""
    up, expert = (7168, 18432, 3, 3), (7168, 2048, 58 * 257, 58 * 9)
    assert sizes(catalogue("deepseek-v3")) == {
        "q_a_proj": (7168, 1536, 61, 61),
        "q_b_proj": (1536, 24576, 61, 61),
        "kv_a_proj_with_mqa": (7168, 576, 61, 61),
        "kv_b_proj": (512, 32768, 61, 61),
        "o_proj": (16384, 7168, 61, 61),
        **{"gate_proj": up, "up_proj": up, "down_proj": (18432, 7168, 3, 3)},
        **{"expert gate_proj": expert, "expert up_proj": expert, "expert down_proj": (2048, 7168, 58 * 257, 58 * 9)},
        "router": (7168, 256, 58, 58),
    }


def test_a_plain_block_has_no_gate() -> None:
    """GPT-3 has four matrices of attention and two of the feed-forward block."""
    assert ["q_proj", "k_proj", "v_proj", "o_proj", "up_proj", "down_proj"] == list(sizes(catalogue("gpt-3-175b")))


def test_latent_attention_without_compressed_queries() -> None:
    """DeepSeek-V2-Lite has one matrix of queries; its weight files hold 15 706 484 224 parameters."""
    lite = described(
        **{"layers": 27, "hidden": 2048, "heads": 16, "vocab": 102400, "ffn_dense": 10944, "dense_layers": 1},
        **{"ffn_expert": 1408, "experts": 64, "topk": 6, "shared": 2},
        **{"mla": True, "head_dim": 192, "kv_lora_rank": 512, "rope_head_dim": 64, "v_head_dim": 128},
    )
    assert (2048, 3072, 27, 27) == sizes(lite)["q_proj"]
    assert 15_706_484_224 == lite.parameters.value


OPEN = {"inkling", "ling-2.6-1t", "qwen3.8-2.4t-a95b"}
"""Models whose publishers' totals are known and whose shapes were not found."""


def test_a_model_without_a_shape_has_its_published_parameters() -> None:
    """Only these lack keys of their shape, and they give their parameters instead."""
    assert {id for id in CATALOG.ids("model") if model_matrices.missing(catalogue(id))} == OPEN
    assert all(CATALOG.find("model", id).value("parameters") for id in OPEN)


@pytest.mark.parametrize("id", sorted(set(CATALOG.ids("model")) - OPEN))
def test_matrices_and_parameters_agree(id: str) -> None:
    """All copies of all matrices are the weights counted, and a token leaves out exactly the idle copies."""
    model = catalogue(id)
    counted, found = models.parameters(model), model_matrices.matrices(model)
    assert counted is not None
    assert found is not None
    blocks = {name: figure.value for name, figure in counted.inputs}
    routers = [each for each in found if each.name == "router"] if model.router_bias else []
    biases = sum(each.outputs.value * each.count.value for each in routers)
    weights = [each.inputs.value * each.outputs.value for each in found]
    copies = zip(weights, (each.count.value for each in found), strict=True)
    idle = zip(weights, (each.count.value - each.active.value for each in found), strict=True)
    blocks_weights = sum(blocks[name] for name in ("attention", "feed_forward", "experts", "router"))
    assert blocks_weights == sum(weight * count for weight, count in copies) + biases
    active = model.parameters.value - sum(weight * count for weight, count in idle)
    assert active == model.active_parameters.value


@pytest.mark.parametrize(
    ("key", "value", "more"),
    [
        ("bias", "qkv", 32 * 3 * 4096),
        ("bias", "all", 32 * (3 * 4096 + 4096 + 2 * 11008 + 4096)),
        ("norm", "layer", 65 * 4096),
        ("norms_per_layer", 4, 64 * 4096),
        ("qk_norm", True, 32 * 2 * 128),
        ("embedding_norm", True, 4096),
        ("positions", 2048, 2048 * 4096),
        ("relative_positions", True, 32 * (4096 * 4096 + 2 * 4096)),
        ("tied", True, -32000 * 4096),
        ("mlp", "plain", -32 * 4096 * 11008),
        ("kv_heads", 8, -32 * 2 * 4096 * 3072),
        ("head_dim", 64, -32 * 4 * 4096 * 2048),
    ],
)
def test_what_a_key_adds(key: str, value: Any, more: int) -> None:
    """Each key changes the count by what it stands for."""
    assert more == described(**DENSE, **{key: value}).parameters.value - described(**DENSE).parameters.value


STATE = {"linear_key_heads": 8, "linear_key_head_dim": 64, "linear_value_heads": 16, "linear_value_head_dim": 32}
INDEXER = {"index_topk": 512, "index_heads": 16, "index_head_dim": 64}
HEADS = 4 * 4096 * 4096
"""Weights of attention in a layer of 32 heads of 128."""
MIXED = 2 * 512 + 512
"""Queries, keys and values of such a state."""
LINEAR = 4096 * (MIXED + 2 * 16 + 512 + 512)


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"window": 64, "window_layers": 24, "global_head_dim": 256}, 8 * HEADS),
        ({"window": 64, "window_layers": 24, "global_kv_heads": 8}, -8 * 2 * 4096 * 3072),
        ({"window": 64, "window_layers": 24, "attention_k_eq_v": True}, -8 * 4096 * 4096),
        ({"output_gate": True}, 32 * 4096 * 4096),
        ({"linear_layers": 24, **STATE}, 24 * (LINEAR - HEADS)),
        ({"linear_layers": 24, "linear_conv_kernel": 4, **STATE}, 24 * (LINEAR + 4 * MIXED - HEADS)),
        (
            {"linear_layers": 24, "linear_gate_rank": 64, **STATE},
            24 * (LINEAR - 4096 * 512 + 64 * (4096 + 512) - HEADS),
        ),
        ({"ffn_layers": 16}, -16 * (HEADS + 3 * 4096 * 11008)),
        (INDEXER, 32 * 4096 * (16 * 64 + 64 + 16)),
        ({**INDEXER, "sparse_layers": 20}, 20 * 4096 * (16 * 64 + 64 + 16)),
        ({**INDEXER, "index_layers": 8}, 8 * 4096 * (16 * 64 + 64 + 16)),
    ],
)
def test_what_layers_that_differ_add(keys: dict[str, Any], more: int) -> None:
    """Layers of each kind have the matrices of their kind, and no other."""
    assert more == described(**DENSE, **keys).parameters.value - described(**DENSE).parameters.value


@pytest.mark.parametrize(
    ("keys", "all_", "active"),
    [
        ({"shared": 1}, 4 * 3 * 64 * 32, 4 * 3 * 64 * 32),
        ({"shared": 2, "ffn_shared": 48}, 4 * 2 * 3 * 64 * 48, 4 * 2 * 3 * 64 * 48),
        ({"moe_latent": 16}, 4 * (2 * 64 * 16 - 8 * 3 * 48 * 32), 4 * (2 * 64 * 16 - 2 * 3 * 48 * 32)),
        ({"moe_latent": 16, "shared": 1}, 4 * (2048 - 8 * 4608 + 6144), 4 * (2048 - 2 * 4608 + 6144)),
    ],
)
def test_what_experts_that_differ_add(keys: dict[str, Any], all_: int, active: int) -> None:
    """A shared expert may be as wide as it likes; only routed experts work in the latent width."""
    before, after = described(**MOE), described(**MOE, **keys)
    assert all_ == after.parameters.value - before.parameters.value
    assert active == after.active_parameters.value - before.active_parameters.value


def test_the_least_shape_counts_as_llama_does() -> None:
    """Five keys are enough: they give the 6 738 415 616 parameters of LLaMA 7B."""
    model = described(**DENSE)
    assert 6_738_415_616 == model.parameters.value == model.active_parameters.value
    assert model_matrices.head_dim(model) is not None
    assert model_matrices.kv_heads(model) is model.shape["heads"]


def test_without_the_vocabulary_only_matrices_are_known() -> None:
    """A count that the plan gives stands; the shape serves what needs no vocabulary."""
    model = described(parameters="7B", **{key: value for key, value in DENSE.items() if key != "vocab"})
    assert 7 * 10**9 == model.parameters.value
    assert models.parameters(model) is None
    assert 7 == len(sizes(model))


def test_of_a_count_alone_nothing_is_known() -> None:
    """A model known by its count has no matrices and no width of a head."""
    model = described(parameters="7B")
    assert [None] * 4 == [
        each(model)
        for each in (model_matrices.matrices, models.parameters, model_matrices.head_dim, model_matrices.kv_heads)
    ]
    assert models.active_parameters(model, model.parameters) is None


def test_active_parameters_of_a_count_that_is_given() -> None:
    """A mixture's shape says what of a given count a token leaves out; without its experts all work."""
    idle = 4 * (8 - 2) * 3 * 64 * 32
    assert 10**6 - idle == described(parameters="1M", **MOE).active_parameters.value
    assert 10**6 == described(parameters="1M", experts=8).active_parameters.value
    assert 5 == described(parameters="1M", active_parameters=5, **MOE).active_parameters.value


def test_nought_where_a_model_may_have_none() -> None:
    """No shared experts, no dense layers: said or left out, it is the same."""
    nought = described(**MOE, shared=0, dense_layers=0, ffn_dense=0)
    assert described(**MOE).parameters.value == nought.parameters.value


@pytest.mark.parametrize(
    ("keys", "key", "message"),
    [
        ({**MOE, "topk": 9}, "topk", "topk is 9; at most as many as experts: 8"),
        ({**MOE, "dense_layers": 5}, "dense_layers", "dense_layers is 5; at most as many as layers: 4"),
        ({**DENSE, "kv_heads": 64}, "kv_heads", "kv_heads is 64; at most as many as heads: 32"),
        (
            {**DENSE, "window": 8, "window_layers": 33},
            "window_layers",
            "window_layers is 33; at most as many as layers: 32",
        ),
        ({**DENSE, "window_layers": 3}, "window_layers", "window_layers without a window; set `window`, in tokens"),
        (
            {**DENSE, **LATENT, "rope_head_dim": 25},
            "rope_head_dim",
            "rope_head_dim is 25; at most as many as head_dim: 24",
        ),
        ({**DENSE, **LATENT, "bias": "qkv"}, "bias", "latent attention with bias: qkv; write bias: none"),
        (
            {**DENSE, "global_head_dim": 256},
            "global_head_dim",
            "global_head_dim without `window_layers`; add what is missing",
        ),
        ({**DENSE, "index_layers": 8}, "index_layers", "index_layers without `index_topk`; add what is missing"),
        (
            {**DENSE, "linear_layers": 33, **STATE},
            "linear_layers",
            "linear_layers is 33; at most as many as layers: 32",
        ),
        (
            {**DENSE, "linear_layers": 20, "ffn_layers": 13, **STATE},
            "ffn_layers",
            "linear_layers and ffn_layers are 33 together; at most as many as layers: 32",
        ),
        (
            {**DENSE, **INDEXER, "window": 64},
            "index_topk",
            "index_topk with a window; only compressed attention (`csa_layers`) has both",
        ),
        ({**DENSE, "heads": 30}, "heads", "30 heads do not divide a hidden size of 4096 evenly; set `head_dim`"),
    ],
)
def test_shapes_that_contradict_themselves(keys: dict[str, Any], key: str, message: str) -> None:
    """A shape that no model can have is refused at the key that is wrong."""
    problem = refused(**keys)
    written = json.dumps({"model": keys})
    assert (message, "shape") == (problem.message, problem.rule)
    assert written[problem.mark.column - 1 :].startswith(json.dumps(keys[key]))


@pytest.mark.parametrize(
    ("keys", "missing"),
    [
        ({key: DENSE[key] for key in ("layers", "hidden")}, "`heads`, `vocab`, `ffn`"),
        ({key: value for key, value in MOE.items() if key != "topk"}, "`topk`"),
        ({**MOE, "dense_layers": 1}, "`ffn_dense`"),
        ({**DENSE, "mla": True}, "`head_dim`, `v_head_dim`, `kv_lora_rank`, `rope_head_dim`"),
    ],
)
def test_what_is_missing_is_named(keys: dict[str, Any], missing: str) -> None:
    """A shape that is not enough is refused with the keys that would make it so."""
    assert f"the parameters are unknown; add `parameters`, or to the shape {missing}" == refused(**keys).message


def test_a_model_of_which_nothing_is_said() -> None:
    """A name alone is no model."""
    problem = refused(name="Mine")
    assert "the model described here has no `parameters`; add them, or its shape" == problem.message


def test_fewer_parameters_than_idle_experts() -> None:
    """Active parameters written as all of them do not pass."""
    problem = refused(parameters=10**5, **MOE)
    assert "range" == problem.rule
    assert "write all parameters" in problem.message


def test_a_block_is_plain_where_a_gated_one_has_too_many_parameters() -> None:
    """GPT 22B: 12 L h^2 with two matrices of 4h, 16 L h^2 with three (arXiv 2205.05198, table 3)."""
    shape = {"layers": 48, "hidden": 6144, "heads": 64, "ffn": 24576}
    assert "plain" == described(parameters=21743271936, **shape).mlp
    assert "gated" == described(parameters="30B", **shape).mlp
    assert "gated" == described(parameters=21743271936, mlp="gated", **shape).mlp
