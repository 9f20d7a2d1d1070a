"""Attention where layers differ: multiply-adds and activations of a token, from configurations, layer by layer."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import pytest

from bomgen.catalog import part_records
from bomgen.catalog.files import Catalog
from bomgen.core.provenance import Figure, Given, Mark
from bomgen.sizing.model_work import CONVENTIONS, products_of_token

CATALOG = Catalog()
SEQUENCE = 65536


@cache
def within(most: int, sequence: int = SEQUENCE) -> Fraction:
    """Tokens that a token attends to on average, when it attends to no more than the most: one by one."""
    return Fraction(sum(min(2 * place + 1, 2 * most) for place in range(sequence)), 2 * sequence)


PRODUCTS = {
    "gemma-4-31b": 32 * 2 * (10 * 512 * within(SEQUENCE) + 50 * 256 * within(1024)),
    "llama-4-scout": 40 * 2 * 128 * (12 * within(SEQUENCE) + 36 * within(8192, 8192)),
    "deepseek-v3.2": 61 * (128 * (192 + 128) * within(2048) + 64 * 128 * within(SEQUENCE)),
    "glm-5.2": 78 * 64 * (256 + 256) * within(2048) + 21 * 32 * 128 * within(SEQUENCE),
    "minimax-m3": 64 * 2 * 128 * (3 * within(SEQUENCE) + 57 * within(2048)) + 57 * 4 * 128 * within(SEQUENCE),
    "deepseek-v4-flash": 64 * 2 * 512 * (21 * within(2048) / 4 + 20 * within(SEQUENCE) / 128 + 43 * within(128))
    + 21 * 64 * 128 * within(SEQUENCE) / 4,
    "qwen3.5-27b": 24 * 2 * 256 * 16 * within(SEQUENCE) + 48 * 48 * 2 * 128 * 128,
    "nemotron-h-56b": 64 * 2 * 128 * 10 * within(SEQUENCE) + 54 * 256 * 2 * 256 * 64,
}
"""Multiply-adds of a token of 65 536: layers of each kind, heads, widths of keys and values, tokens attended to."""


@pytest.mark.parametrize("id", PRODUCTS)
def test_products_where_layers_differ(id: str) -> None:
    """Every kind of layers counts with its own heads and as far as its tokens see; an indexer scores all tokens."""
    model = part_records.model(CATALOG.find("model", id))
    found = products_of_token(model, CONVENTIONS["causal"], Figure(SEQUENCE, "tokens", Given(Mark("plan.yaml", 1, 1))))
    assert found is not None
    assert float(PRODUCTS[id]) == pytest.approx(float(found.value), rel=1e-3)


LAYERS, HIDDEN, HEADS, WIDTH, FFN = 64, 4096, 32, 128, 11008
TOKENS = 2048


@pytest.mark.parametrize(
    ("keys", "attention", "states", "blocks"),
    [
        ({}, 64, 0, 64),
        ({"linear_layers": 48}, 16, 48, 64),
        ({"linear_layers": 28, "ffn_layers": 28}, 8, 28, 28),
    ],
)
def test_activations_where_layers_differ(
    keys: dict[str, int], attention: int, states: int, blocks: int, built: Callable[[dict[str, Any]], dict[str, Any]]
) -> None:
    """Tensors of 16 bits: q, k, v and output; of a state also its gate; three inside a block; logsumexps of 4 bytes."""
    state = {"linear_key_heads": 16, "linear_key_head_dim": 128, "linear_value_heads": 32, "linear_value_head_dim": 64}
    shape = {"layers": LAYERS, "hidden": HIDDEN, "heads": HEADS, "ffn": FFN, "vocab": 32000}
    training = {"model": {**shape, **keys, **(state if keys else {})}, "tokens": "1T", "flash_attention": True}
    training |= {"sequence": TOKENS, "micro_batch": 1, "batch_tokens": TOKENS * 8, "parallelism": {"tensor": 1}}
    plan = {"bomgen": 1, "name": "a", "workload": {"training": training}, "cluster": {"gpu": "b300-sxm", "gpus": 8}}
    of_attention = 4 * HEADS * WIDTH * 2 + 4 * HEADS
    of_state = (2 * 16 * 128 + 3 * 32 * 64) * 2
    kept = LAYERS * 10 * HIDDEN + attention * of_attention + states * of_state + blocks * 3 * FFN * 2
    assert TOKENS * kept == built(plan)["workload"]["memory"]["per_gpu"]["activations"]
