"""llm-analysis: days, GPU-hours and memory of a training run, with its own description of LLaMA 65B and of the A100.

Standard input: {"gpus", "tensor", "tokens", "sequence", "micro_batches", "efficiency", "zero"}; with "servers", a
list, a run on each number of servers of 8 GPUs. Prints JSON.
"""

import json
import os
import sys
import time
from importlib.metadata import version

os.environ["HF_HUB_OFFLINE"] = "1"
START = time.perf_counter()
from llm_analysis.analysis import train  # noqa: E402 - the import is timed

IMPORTED = time.perf_counter() - START
SECONDS_A_DAY = 86400
GPUS_A_SERVER = 8

asked = json.load(sys.stdin)


def run(gpus: int) -> dict[str, float]:
    """A run on so many GPUs."""
    return train(
        model_name="decapoda-research_llama-65b-hf",
        gpu_name="a100-sxm-80gb",
        log_level="ERROR",
        total_num_gpus=gpus,
        tp_size=asked["tensor"],
        batch_size_per_gpu=1,
        gradient_accumulation_steps=asked["micro_batches"],
        seq_len=asked["sequence"],
        total_num_tokens=asked["tokens"],
        flops_efficiency=asked["efficiency"],
        ds_zero=asked["zero"],
        activation_recomputation=0,
    )


if "servers" in asked:
    days = [run(servers * GPUS_A_SERVER)["total_training_latency"] / SECONDS_A_DAY for servers in asked["servers"]]
    result = {"designs": len(days), "days": min(days)}
else:
    found = run(asked["gpus"])
    result = {
        "parameters": found["num_params_total"],
        "FLOPs a token": found["num_flops_total_per_micro_batch"] / asked["sequence"],
        "days": found["total_training_latency"] / SECONDS_A_DAY,
        "GPU-hours": found["gpu_hours"],
        "weights": found["weight_memory_per_gpu"],
        "gradients": found["gradient_memory_per_gpu"],
        "optimizer": found["optimizer_state_memory_per_gpu"],
        "activations": found["activation_memory_per_gpu"],
    }
print(json.dumps({"version": version("llm-analysis"), "import_seconds": IMPORTED, "result": result}))
