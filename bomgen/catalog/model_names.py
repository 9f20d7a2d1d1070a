"""Names of models: of published checkpoints, such as `nvidia/Llama-3.1-405B-Instruct-FP8`, and those without a size.

A name on Hugging Face is that of a publisher and a checkpoint. Its ending says what was tuned or quantised, which
leaves the shape of the model as it is.

Some models are not sized, because their work does not follow from parameters and tokens; the beginnings of their names
are data, `data/unsized-models.yaml`, by kind.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from bomgen.core.resources import folder
from bomgen.core.yaml_source import own

FORMATS: Mapping[str, str] = {
    "fp8": "fp8",
    "nvfp4": "nvfp4",
    "mxfp8": "fp8",
    "mxfp4": "mxfp4",
    "fp4": "nvfp4",
    "awq": "awq",
    "gptq": "gptq",
    "w4a16": "int4",
    "int4": "int4",
    "w8a8": "w8a8",
    "int8": "int8",
    "4bit": "int4",
    "8bit": "int8",
    "bf16": "bf16",
}
"""The number format that a word of a checkpoint's name stands for; FP4 is that of NVIDIA's older checkpoints."""
_TUNED = ("instruct", "chat", "base", "it", "hf", "pt", "sft", "rl", "dpo", "thinking", "think", "preview", "speciale")
_DETAIL = (
    *("dynamic", "block", "static", "pertensor", "quantized", "mixed", "kv", "bnb", "autoround", "mlx", "gguf", "qat"),
    *("ct", "w4a4", "w8a16"),
)
"""Words that say how a format was made."""
_EDITION_OF_FILES = r"v[0-9](?:\.[0-9])?"
_GGUF = r"i?q(?P<bits>[2-8])(?:-[0-9ksml]+)*"
"""Formats of llama.cpp, such as Q4_K_M; those of 4 and of 8 bits are read like the integers that are as wide."""
_ENDING = re.compile(rf"[-.](?:{'|'.join(map(re.escape, (*FORMATS, *_TUNED, *_DETAIL)))}|{_EDITION_OF_FILES}|{_GGUF})$")
_EDITION = re.compile(rf"-(?:{'|'.join((*FORMATS, *_TUNED))}|[0-9]{{4}})(?=-|$)")
_BRANDS = ("meta-", "nvidia-")
"""Beginnings that repeat the publisher."""


def bare_names(name: str) -> Iterator[str]:
    """Yield the names that a checkpoint's name may mean, longest first: without publisher, brand and endings."""
    short = name.lower().rpartition("/")[2].replace("_", "-").replace(" ", "-")
    while True:
        yield short
        yield from (short.removeprefix(brand) for brand in _BRANDS if short.startswith(brand))
        ending = _ENDING.search(short)
        if ending is None:
            return
        short = short[: ending.start()]


def untuned(name: str) -> str:
    """Return a checkpoint's name without publisher, and without tuning, format and date wherever they are in it."""
    return _EDITION.sub("", next(bare_names(name)))


def format_of_checkpoint(name: str) -> str | None:
    """Return the number format that a checkpoint's name ends with, before details; None where it names none."""
    short = name.lower().rpartition("/")[2].replace("_", "-")
    words = []
    while ending := _ENDING.search(short):
        words.append(f"{ending['bits']}bit" if ending["bits"] else ending[0][1:])
        short = short[: ending.start()]
    # GPTQ and AWQ name their bits behind them: the method, which comes first, says which matrices it takes.
    return next((FORMATS[word] for word in reversed(words) if word in FORMATS), None)


FILE = "unsized-models.yaml"


def kind_of_unsized(name: str) -> str | None:
    """Return the kind of a model that is not sized, such as diffusion, by its name; None for any other."""
    own_name = name.lower().rpartition("/")[2].replace("_", "-").replace(" ", "-")
    # The whole name may be the family's alone: `vit`, of which the file has `vit-`.
    kinds = (kind for kind, names in _names().items() if f"{own_name}-".startswith(tuple(names)))
    return next(kinds, None)


@cache
def _names() -> Mapping[str, Sequence[str]]:
    path = folder("data") / FILE
    names: Mapping[str, Sequence[str]] = own(path, path.name).data
    return names
