"""Which numbers of GPUs a run fits, all at once: the memory is to the byte what one of its splits needs."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import assume, example, given
from hypothesis import strategies as st
from test_parallelism import given_, gpu, split, training

from bomgen.core.diagnostics import Infeasible
from bomgen.sizing.gpu_counts import fitting
from bomgen.sizing.training import memory
from bomgen.sizing.training.parallelism import fit

DIVISORS = st.sampled_from([1, 2, 3, 4, 6, 8])


@st.composite
def models(draw: st.DrawFn) -> dict[str, int]:
    """A small model, of experts or without, with an embedding that weighs or none."""
    layers, heads = draw(st.integers(1, 9)), draw(st.sampled_from([1, 4, 6, 8]))
    hidden = heads * 16
    model = {"parameters": draw(st.integers(10**5, 10**7)), "layers": layers, "hidden": hidden, "heads": heads}
    if draw(st.booleans()):
        model |= {"vocab": draw(st.integers(1, model["parameters"] // hidden // 4))}
    if draw(st.booleans()):
        shape = {"experts": draw(st.sampled_from([4, 6, 16])), "topk": 2, "ffn_expert": hidden, "shared": 0}
        model |= {**shape, "active_parameters": model["parameters"] * draw(st.integers(3, 8)) // 10}
    return model


KEYS = st.fixed_dictionaries(
    {
        "zero": st.integers(0, 3),
        "recompute": st.sampled_from(["none", "selective", "full", "full"]),
        "sequence": st.sampled_from([4, 6, 30, 512]),
        "micro_batch": st.integers(1, 3),
        "batch_tokens": st.integers(1, 10**5),
    }
)


PLAIN = {"parameters": 226703, "layers": 7, "hidden": 64, "heads": 4}
EXPERTS = {
    **{"parameters": 2162449, "active_parameters": 1081224, "layers": 1, "hidden": 64, "heads": 4},
    **{"experts": 4, "topk": 2, "ffn_expert": 64, "shared": 0},
}


@example(
    model=PLAIN,
    keys={"zero": 1, "recompute": "none", "sequence": 4, "micro_batch": 1, "batch_tokens": 2},
    offload=("optimizer",),
    degrees={"tensor": 4, "pipeline": 3, "context": 3, "data": 1},
    more=1,
    counts=[57, 315],
).via("the last step of a bisection decides")
@example(
    model=EXPERTS,
    keys={"zero": 1, "recompute": "full", "sequence": 6, "micro_batch": 2, "batch_tokens": 6320},
    offload=("optimizer",),
    degrees={"tensor": 4, "pipeline": 2, "context": 8, "data": 2},
    more=1,
    counts=[312, 256, 108],
).via("with full recomputation a narrower tensor degree fits where the widest does not")
@given(
    model=models(),
    keys=KEYS,
    offload=st.sampled_from([(), ("activations",), ("optimizer",)]),
    degrees=st.fixed_dictionaries(dict.fromkeys(("tensor", "pipeline", "context", "data"), DIVISORS)),
    more=st.integers(-1, 1),
    counts=st.lists(st.integers(1, 400), min_size=8, max_size=8),
)
def test_each_number_fits_that_a_search_finds_a_split_for(
    model: dict[str, int],
    keys: dict[str, Any],
    offload: tuple[str, ...],
    degrees: dict[str, int],
    more: int,
    counts: list[int],
) -> None:
    """What is found for many numbers is what the search finds for each, at the very byte that decides."""
    run = training(model, **keys)._replace(offload=offload)
    one = memory.per_gpu(run, split(sequence_parallel=degrees["tensor"] > 1, **degrees))
    limited = gpu()._replace(memory_bytes=given_(one.total.value + more, "bytes"))
    size = int(np.prod([*degrees.values()]))
    counts = [*counts, *(size * times for times in (1, 2, 3, 5, 7))]
    found = fitting(run, limited, given_(1), np.array(counts))
    assume(found)
    assert found is not None
    for count, fits in zip(counts, found.fits.tolist(), strict=True):
        try:
            searched = fit(run, limited, given_(count), None).fits is not False
        except Infeasible:
            searched = False
        assert fits == searched, count
