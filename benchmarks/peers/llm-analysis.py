"""llm-analysis: days, GPU-hours and memory of a training run, with its own description of LLaMA 65B and of the A100.

Standard input: {"gpus", "tensor", "tokens", "sequence", "micro_batches", "efficiency", "zero"}; with "servers", a
list, a run on each number of servers of 8 GPUs instead of "gpus"; with "rows", the steps of measured runs at that
efficiency, and how many of them it works out a second. Prints JSON.
"""

import json
import os
import sys
import time
from collections import defaultdict
from importlib.metadata import version

os.environ["HF_HUB_OFFLINE"] = "1"
START = time.perf_counter()
from llm_analysis.analysis import ActivationRecomputation, LLMAnalysis, train  # noqa: E402 - the import is timed
from llm_analysis.config import ModelConfig, ParallelismConfig, get_gpu_config_by_name  # noqa: E402
from llm_analysis.logger import logger  # noqa: E402

IMPORTED = time.perf_counter() - START
SECONDS_A_DAY = 86400
GPUS_A_SERVER = 8
RECOMPUTED = {
    "full": ActivationRecomputation.FULL,
    "selective": ActivationRecomputation.SELECTIVE,
    "none": ActivationRecomputation.NONE,
}


def run(asked, gpus):
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


def days_of_servers(asked):
    """The fewest days of all numbers of servers."""
    days = [
        run(asked, servers * GPUS_A_SERVER)["total_training_latency"] / SECONDS_A_DAY for servers in asked["servers"]
    ]
    return {"designs": len(days), "days": min(days)}


def figures_of_run(asked):
    """Days, GPU-hours and memory of a run."""
    found = run(asked, asked["gpus"])
    return {
        "parameters": found["num_params_total"],
        "FLOPs a token": found["num_flops_total_per_micro_batch"] / asked["sequence"],
        "days": found["total_training_latency"] / SECONDS_A_DAY,
        "GPU-hours": found["gpu_hours"],
        "weights": found["weight_memory_per_gpu"],
        "gradients": found["gradient_memory_per_gpu"],
        "optimizer": found["optimizer_state_memory_per_gpu"],
        "activations": found["activation_memory_per_gpu"],
    }


def step(gpu, row, efficiency):
    """Seconds of a step."""
    split = ParallelismConfig(
        tp_size=row["tensor"],
        pp_size=row["pipeline"],
        dp_size=row["data"],
        sp_size=row["tensor"] if row["sequence_parallel"] else 1,
    )
    model = ModelConfig(
        name="row",
        num_layers=row["layers"],
        n_head=row["heads"],
        hidden_dim=row["hidden"],
        vocab_size=row["vocab"],
        max_seq_len=row["sequence"],
        ffn_embed_dim=row["ffn"],
    )
    found = LLMAnalysis(model, gpu, parallelism_config=split, flops_efficiency=efficiency).training(
        batch_size_per_gpu=row["micro_batch"],
        gradient_accumulation_steps=row["batch"] // row["data"] // row["micro_batch"],
        global_batch_size=row["batch"],
        seq_len=row["sequence"],
        activation_recomputation=RECOMPUTED[row["recompute"]],
        flash_attn=False,
    )
    return found["latency_per_iter"]


def steps_of(asked):
    """How far the steps of measured runs are off, by cluster, and how many are worked out a second."""
    logger.setLevel("CRITICAL")
    gpu = get_gpu_config_by_name("a100-sxm-80gb")
    gpu.mem_per_GPU_in_GB = 1e9  # all of these runs were run: none is to be refused for its memory
    start = time.perf_counter()
    steps = [step(gpu, row, asked["efficiency"]) for row in asked["rows"]]
    seconds = time.perf_counter() - start
    errors = defaultdict(list)
    for row, found in zip(asked["rows"], steps, strict=True):
        errors[row["cluster"]].append(abs(found / row["step"] - 1))
    return {f"error of {name}": round(sum(each) / len(each), 4) for name, each in errors.items()} | {
        "steps/s": round(len(steps) / seconds)
    }


asked = json.load(sys.stdin)
work = steps_of if "rows" in asked else days_of_servers if "servers" in asked else figures_of_run
result = work(asked)
print(json.dumps({"version": version("llm-analysis"), "import_seconds": IMPORTED, "result": result}))
