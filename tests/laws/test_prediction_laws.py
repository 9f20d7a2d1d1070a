"""Laws of predicted training steps, for any split, machine and model that the formulas take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bomgen.core.provenance import Cited, Figure
from bomgen.sizing.prediction import fitted
from bomgen.sizing.prediction.predict import learn, lower_bound, predict_steps, upper_bound
from bomgen.sizing.prediction.terms import (
    Machine,
    Split,
    Terms,
    Work,
    apply_plain,
    apply_to_figures,
    line_rate_terms,
)

WAYS = st.sampled_from([1.0, 2.0, 4.0, 8.0, 16.0, 64.0])
FASTER = st.floats(1, 100)
SHARES = st.sampled_from([0.0, 1.0])
PRECISIONS = st.sampled_from(["16-bit", "fp8", "mxfp8", "nvfp4"])
GENERATIONS = st.sampled_from([None, "ampere", "hopper", "blackwell", "blackwell-ultra"])
ROUNDING = 1 + 1e-9


@st.composite
def works(draw: st.DrawFn) -> Work[float]:
    """A dense model or a mixture of experts."""
    layers, hidden = float(draw(st.integers(1, 128))), float(draw(st.integers(1, 160)) * 128)
    sequence, moe = float(draw(st.sampled_from([512, 4096, 131072]))), draw(st.booleans())
    weights = 12 * layers * hidden * hidden
    return Work(
        layers=layers,
        hidden=hidden,
        sequence=sequence,
        weights=weights,
        split_width=14 * hidden * layers,
        products=layers * sequence * hidden,
        scores=layers * sequence * hidden / 128,
        kv_width=2 * layers * hidden,
        head=hidden * 128_000,
        parameters=weights + 2 * hidden * 128_000,
        expert_weights=8 * weights if moe else 0.0,
        expert_parameters=64 * weights if moe else 0.0,
        expert_width=2048.0 if moe else 1.0,
        expert_layers=layers if moe else 0.0,
        experts=64.0 if moe else 1.0,
        topk=8.0 if moe else 1.0,
    )


@st.composite
def splits(draw: st.DrawFn) -> Split[float]:
    """A split with any settings."""
    return Split(
        batch=float(draw(st.integers(1, 8192))),
        micro_batch=draw(WAYS),
        tensor=draw(WAYS),
        pipeline=draw(WAYS),
        interleave=draw(WAYS),
        data=draw(WAYS),
        context=draw(WAYS),
        expert=draw(WAYS),
        gathers=draw(st.sampled_from([0.0, 1.0, 3.0])),
        sharded=draw(SHARES),
        recompute=draw(SHARES),
        attention_recompute=draw(SHARES),
        flash=draw(SHARES),
        sequence_parallel=draw(SHARES),
        overlapped=draw(SHARES),
    )


def machines() -> st.SearchStrategy[Machine[float]]:
    """A GPU with its links; scale-up links are no slower than NICs."""
    return st.builds(
        Machine,
        peak=st.floats(1e13, 1e16),
        plain_peak=st.floats(1e13, 5e15),
        memory_bandwidth=st.floats(1e11, 2e13),
        scale_up=st.floats(1e11, 2e12),
        network=st.floats(1e9, 1e11),
        domain=st.sampled_from([1.0, 8.0, 72.0]),
        attention_share=st.floats(0.1, 1),
    )


def efficiencies(generation: str | None, precision: str) -> Terms[float]:
    """Fitted inverse efficiencies."""
    return fitted.inverse_efficiencies(generation, precision, "megatron-bridge")


@given(works(), machines(), splits(), GENERATIONS, PRECISIONS, FASTER)
def test_more_bandwidth_never_slows(
    work: Work[float], machine: Machine[float], split: Split[float], born: str | None, precision: str, times: float
) -> None:
    """Of the memory, of the scale-up links, of the NICs, and of all of them."""
    inverse = efficiencies(born, precision)
    step = predict_steps(work, machine, split, inverse)
    names = ("memory_bandwidth", "scale_up", "network")
    for changed in ((name,) for name in names):
        faster = machine._replace(**{name: getattr(machine, name) * times for name in changed})
        assert predict_steps(work, faster, split, inverse) <= step * ROUNDING
    faster = machine._replace(**{name: getattr(machine, name) * times for name in names})
    assert predict_steps(work, faster, split, inverse) <= step * ROUNDING


@given(works(), machines(), splits())
def test_figures_come_to_what_numbers_come_to(work: Work[float], machine: Machine[float], split: Split[float]) -> None:
    """Each term at line rate, to the last bit; none is negative."""

    def figures(values: tuple[float, ...]) -> list[Figure]:
        return [Figure(value, "count", Cited("drawn", (), "high")) for value in values]

    plain = line_rate_terms(apply_plain, work, machine, split)
    explained = line_rate_terms(
        apply_to_figures, Work(*figures(work)), Machine(*figures(machine)), Split(*figures(split))
    )
    assert [figure.value for figure in explained] == list(plain)
    assert min(plain) >= 0


@given(st.floats(1e-3, 1e4), st.floats(0, 3), st.floats(0, 3), st.floats(0, 2))
def test_an_interval_holds_its_point_and_narrower_ones(step: float, wide: float, more: float, spread: float) -> None:
    """Whatever the spread; a larger coverage gives a wider interval."""
    low, high = lower_bound.plain(step, wide, spread), upper_bound.plain(step, wide, spread)
    assert low <= step <= high
    assert lower_bound.plain(step, wide + more, spread) <= low
    assert upper_bound.plain(step, wide + more, spread) >= high


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=20), st.floats(0.01, 2), st.floats(0.01, 2), st.floats(-1, 1))
def test_own_measurements_never_widen(errors: list[float], spread: float, within: float, one_more: float) -> None:
    """Nor does one more; the point moves towards them, and no further than they are off on average."""
    moved, left = learn(errors, spread, within)
    assert left <= spread * ROUNDING
    assert abs(moved) <= abs(sum(errors) / len(errors)) * ROUNDING
    assert learn([*errors, one_more], spread, within)[1] <= left * ROUNDING
