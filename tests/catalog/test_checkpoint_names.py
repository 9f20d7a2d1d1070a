"""Models by the names of their checkpoints, as people paste them, and the number format that a name says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.catalog.models import format_of_checkpoint

NAMES = {
    "Qwen/Qwen3-32B": ("qwen3-32b", None),
    "qwen/qwen3-32b-awq": ("qwen3-32b", "awq"),
    "Qwen/Qwen3-30B-A3B-GPTQ-Int4": ("qwen3-30b-a3b", "gptq"),
    "meta-llama/Llama-3.1-70B-Instruct": ("llama-3.1-70b", None),
    "meta-llama/Meta-Llama-3.1-405B-Instruct-FP8": ("llama-3.1-405b", "fp8"),
    "RedHatAI/Meta-Llama-3.1-70B-Instruct-quantized.w4a16": ("llama-3.1-70b", "int4"),
    "nvidia/DeepSeek-R1-0528-NVFP4-v2": ("deepseek-r1", "nvfp4"),
    "nvidia/NVIDIA-Nemotron-Nano-9B-v2": ("nemotron-nano-9b-v2", None),
    "mistralai/Mixtral-8x7B-Instruct-v0.1": ("mixtral-8x7b", None),
    "google/gemma-3-27b-it": ("gemma-3-27b", None),
    "moonshotai/Kimi-K2-Thinking": ("kimi-k2-thinking", None),
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": ("qwen3-235b-a22b-2507", "fp8"),
    "cpatonn/Qwen3-30B-A3B-Instruct-2507-AWQ-4bit": ("qwen3-30b-a3b-2507", "awq"),
    "Qwen/Qwen3-Coder-Next": ("qwen3-next-80b-a3b", None),
    "MiniMaxAI/MiniMax-M3-MXFP8": ("minimax-m3", "fp8"),
    "amd/Llama-3.1-405B-Instruct-FP8-KV": ("llama-3.1-405b", "fp8"),
    "unsloth/Llama-3.3-70B-Instruct-bnb-4bit": ("llama-3.1-70b", "int4"),
    "Intel/Qwen3.5-122B-A10B-int4-AutoRound": ("qwen3.5-122b-a10b", "int4"),
    "google/gemma-3-27b-it-qat-q4_0-gguf": ("gemma-3-27b", "int4"),
    "bartowski/Meta-Llama-3.1-8B-Instruct-GGUF-Q8_0": ("llama-3.1-8b", "int8"),
    "mistralai/Mistral-7B-Instruct-v0.3": ("mistral-7b", None),
    "meta-llama/Meta-Llama-3-70B-Instruct": ("llama-3-70b", None),
    "allenai/Olmo-3-32B-Think": ("olmo-3-32b", None),
    "OpenGVLab/InternVL3_5-8B": ("internvl3.5-8b", None),
    "mistralai/Mistral-Small-3.2-24B-Instruct-2506": ("mistral-small-3.2-24b", None),
    "deepseek-ai/DeepSeek-V4-Flash-0731": ("deepseek-v4-flash", None),
    "XiaomiMiMo/MiMo-VL-7B-RL": ("mimo-vl-7b", None),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_is_that_of_its_model(name: str) -> None:
    """Whatever its publisher, case, tuning and format; an own id, such as that of Kimi K2 Thinking, comes first."""
    assert (Catalog().find("model", name).id, format_of_checkpoint(name)) == NAMES[name]


def test_every_model_is_found_behind_a_publisher() -> None:
    """By its id and each of its other names, tuned and quantised."""
    catalog = Catalog()
    for record in catalog.all("model"):
        for name in record.names:
            assert catalog.find("model", f"someone/{name.upper()}-Instruct-FP8").id == record.id


def test_a_name_of_the_users_own_comes_first(tmp_path: Path) -> None:
    """An alias in a part folder is not taken for the built-in model that its ending hides."""
    (tmp_path / "model").mkdir()
    part = "{name: Own, aliases: [qwen3-32b-awq], parameters: 30B}\n"
    (tmp_path / "model" / "own.yaml").write_text(part, encoding="utf-8")
    catalog = Catalog((tmp_path,))
    found = [catalog.find("model", name).id for name in ("Qwen3-32B-AWQ", "Qwen/Qwen3-32B")]
    assert found == ["own", "qwen3-32b"]


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("deepseek-v4", "did you mean 'deepseek-v4-flash' or 'deepseek-v4-pro'?"),
        ("deepseek-ai/DeepSeek-V4-Instruct", "did you mean 'deepseek-v4-flash' or 'deepseek-v4-pro'?"),
        ("acme/Qwen3-31B-Instruct-2507", "did you mean 'qwen3-32b'?"),
        (
            "acme/unheard-of",
            "`bomgen catalog model` lists all; `bomgen catalog model --from config.json` makes a part of a checkpoint",
        ),
    ],
)
def test_suggestions(name: str, hint: str) -> None:
    """Models of the family that a name begins, before names that look alike."""
    with pytest.raises(UnknownPart) as refused:
        Catalog().find("model", name)
    assert refused.value.find_hint() == hint


@pytest.mark.parametrize(("name", "served"), [("Qwen/Qwen3-32B", "bf16"), ("Qwen/Qwen3-32B-AWQ", "awq")])
def test_a_checkpoint_is_served_in_its_format(name: str, served: str, built: Any) -> None:
    """Unless the plan sets `precision`."""
    serving = {"model": name, "concurrency": 8, "output_tokens": 500}
    cluster = {"gpu": "h200-sxm", "gpus": 8}
    as_named, as_set = (
        built({"bomgen": 1, "name": "a", "workload": {"inference": serving | more}, "cluster": cluster})
        for more in ({}, {"precision": served})
    )
    assert as_named["workload"]["memory"] == as_set["workload"]["memory"]
