"""The reserve of fine-tuning, by hand, and the defaults that follow the optimizer and the stack."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

LAYERS, HIDDEN, HEADS, WIDTH, FFN, VOCAB = 10, 1000, 10, 100, 3000, 20000
MATRICES = 4 * HIDDEN * HEADS * WIDTH + 3 * HIDDEN * FFN
MODEL = {"layers": LAYERS, "hidden": HIDDEN, "heads": HEADS, "ffn": FFN, "vocab": VOCAB, "head_dim": WIDTH}
PARAMETERS = LAYERS * MATRICES + 2 * VOCAB * HIDDEN
SEQUENCE, CONTEXT, BUFFERS = 800, 500_000_000, 688_000_000
LOSS = SEQUENCE // 8 * VOCAB * 10
RESTORED = SEQUENCE * (HIDDEN * 14 + 4 * HEADS * WIDTH * 2 + 4 * FFN * 2 + 4 * HEADS)

Built = Callable[[dict[str, Any]], dict[str, Any]]


def per_gpu(built: Built, gpus: int = 1, kind: str = "fine_tuning", **keys: Any) -> dict[str, int]:
    """The memory of the fullest GPU of a run of the small model."""
    run = {"model": {"parameters": PARAMETERS, **MODEL}, "tokens": "1B", "sequence": SEQUENCE, "recompute": "full"}
    run |= {"parallelism": {"tensor": 1}, **keys}
    cluster = {"gpu": {"name": "any GPU", "bf16_tflops": 100, "fp32_tflops": 50, "memory": "80 GB"}, "gpus": gpus}
    memory = built({"bomgen": 1, "name": "a", "workload": {kind: run}, "cluster": cluster})["workload"]["memory"]
    found: dict[str, int] = memory["per_gpu"]
    return found


def test_a_single_gpu_has_no_buffers_for_communication(built: Built) -> None:
    """Libraries and the working memory of a step remain; the total is the sum of all."""
    found = per_gpu(built, method="lora")
    assert (found["reserve_libraries"], found["reserve_nccl"]) == (CONTEXT, 0)
    assert found["total"] == sum(found[name] for name in found if name != "total")
    assert per_gpu(built, 2, method="lora")["reserve_nccl"] == BUFFERS


def test_gradients_leave_room_for_the_step_until_they_exist(built: Built) -> None:
    """Gradients of a step that accumulates none take the place of the loss and of the restored layer."""
    accumulated = per_gpu(built, batch_tokens=2 * SEQUENCE)
    assert accumulated["reserve_step"] == max(LOSS, RESTORED)
    assert accumulated["gradients"] == 4 * PARAMETERS
    assert per_gpu(built)["reserve_step"] == max(LOSS, RESTORED)
    assert per_gpu(built, batch_tokens=SEQUENCE)["reserve_step"] == 0


def test_an_update_in_the_backward_pass_holds_one_gradient(built: Built) -> None:
    """The gradient of the output matrix is held beside the logits."""
    found = per_gpu(built, gradient_precision="none")
    assert found["gradients"] == 0
    assert found["reserve_step"] == max(LOSS + 2 * VOCAB * HIDDEN, RESTORED)


def test_sharded_weights_are_gathered_layer_by_layer(built: Built) -> None:
    """Two layers are whole on a GPU: the one that is processed, and the next."""
    step = {zero: per_gpu(built, 2, batch_tokens=4 * SEQUENCE, zero=zero)["reserve_step"] for zero in (2, 3)}
    assert step == {2: max(LOSS, RESTORED), 3: max(LOSS, RESTORED + 2 * 2 * MATRICES)}


def test_fused_kernels_keep_less(built: Built) -> None:
    """Neither the fourth tensor inside a gated MLP nor norms in FP32; QLoRA keeps the inputs of its matrices twice."""
    kept = {"recompute": "none", "method": "lora"}
    plain = per_gpu(built, **kept)["activations"]
    assert plain == RESTORED * LAYERS
    fused = per_gpu(built, **kept, activation_fusion=True)["activations"]
    assert plain - fused == SEQUENCE * LAYERS * (FFN * 2 + HIDDEN * 4)
    assert per_gpu(built, **kept, stack="megatron-bridge")["activations"] == fused
    more = per_gpu(built, **kept | {"method": "qlora"})["activations"] - plain
    assert more == SEQUENCE * LAYERS * (4 * HIDDEN + 2 * FFN)


def test_pre_training_has_no_reserve(built: Built) -> None:
    """Its states and activations are those of the papers."""
    found = per_gpu(built, kind="training")
    assert not any(name.startswith("reserve") for name in found)


@pytest.mark.parametrize(
    ("keys", "bytes_each"),
    [
        ({}, 4),
        ({"master_weights": False}, 2),
        ({"master_weights": False, "precision": "fp32"}, 4),
        ({"master_weights": False, "gradient_precision": "fp32"}, 4),
    ],
)
def test_gradients_follow_the_weights_without_master_weights(
    keys: dict[str, Any], bytes_each: int, built: Built
) -> None:
    """The default of the gradients is fp32 beside master weights, and that of the weights without them."""
    assert per_gpu(built, kind="training", **keys)["gradients"] == bytes_each * PARAMETERS


@pytest.mark.parametrize(("stack", "share"), [("megatron-core", 1), ("torchtitan", 2)])
def test_stacks_of_fsdp_shard_weights(stack: str, share: int, built: Built) -> None:
    """Half of the weights are on each of two GPUs."""
    found = per_gpu(built, 2, kind="training", stack=stack)
    assert found["weights"] == 2 * PARAMETERS // share
