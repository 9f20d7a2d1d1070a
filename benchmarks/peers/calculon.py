"""Calculon: steps of measured runs, with its own description of the A100, and how many it works out a second.

Standard input: {"rows": [{"cluster", "step", "gpus", "layers", "hidden", "heads", "ffn", "sequence", "batch",
"micro_batch", "tensor", "pipeline", "interleave", "data", "recompute", "sequence_parallel"}]}. Prints JSON.
"""

import json
import logging
import sys
import time
from collections import defaultdict
from pathlib import Path

START = time.perf_counter()
import calculon  # noqa: E402 - the import is timed
from calculon.llm import Llm  # noqa: E402

IMPORTED = time.perf_counter() - START
SERVER = 8
"""GPUs that the first of the system's two networks connects."""
RECOMPUTED = {"full": "full", "selective": "attn_only", "none": "none"}


def execution(row):
    """How a run is split, in Calculon's words."""
    tensor, pipeline, data = row["tensor"], row["pipeline"], row["data"]
    return {
        "num_procs": row["gpus"],
        "tensor_par": tensor,
        "pipeline_par": pipeline,
        "data_par": data,
        "tensor_par_net": int(tensor > SERVER),
        "pipeline_par_net": int(row["gpus"] > SERVER),
        "data_par_net": int(tensor * data > SERVER),
        "batch_size": row["batch"],
        "microbatch_size": row["micro_batch"],
        "datatype": "float16",
        "fused_activation": False,
        "attention_type": "multihead",
        "activation_recompute": RECOMPUTED[row["recompute"]],
        "pipeline_interleaving": row["interleave"],
        "optimizer_sharding": False,
        "tensor_par_comm_type": "rs_ag" if row["sequence_parallel"] else "ar",
        "tensor_par_overlap": "none",
        "seq_par_ag_redo": False,
        "data_par_overlap": False,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
        "training": True,
    }


def step(system, row):
    """Seconds of a step."""
    shape = {
        "hidden": row["hidden"],
        "feedforward": row["ffn"],
        "seq_size": row["sequence"],
        "attn_heads": row["heads"],
        "attn_size": row["hidden"] // row["heads"],
        "num_blocks": row["layers"],
    }
    model = Llm(Llm.Application(shape), logging.getLogger())
    model.compile(system, Llm.Execution.from_json(execution(row)))
    model.run(system)
    return model.get_total_time()


described = json.loads((Path(calculon.__file__).parents[1] / "systems" / "a100_80g.json").read_text("utf-8"))
described["mem1"]["GiB"] = 1e9  # all of these runs were run: none is to be refused for its memory
system = calculon.System(described)
rows = json.load(sys.stdin)["rows"]
start = time.perf_counter()
steps = [step(system, row) for row in rows]
seconds = time.perf_counter() - start
errors = defaultdict(list)
for row, found in zip(rows, steps, strict=True):
    errors[row["cluster"]].append(abs(found / row["step"] - 1))
print(
    json.dumps(
        {
            "version": calculon.__version__,
            "import_seconds": IMPORTED,
            "result": {f"error of {name}": round(sum(each) / len(each), 4) for name, each in errors.items()}
            | {"steps/s": round(len(rows) / seconds)},
        }
    )
)
