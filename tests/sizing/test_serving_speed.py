"""The prediction of serving: its terms, their sum, its fit, intervals and own measurements."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bomgen.core.provenance import Formula, walk
from bomgen.results.result import Report, numbers_of, result
from bomgen.sizing.prediction import serving, serving_rows
from bomgen.sizing.prediction.measurements import file
from bomgen.sizing.prediction.serving_terms import (
    DECODE,
    PROMPT,
    ReplicaSplit,
    ServingTerms,
    line_rate_terms,
)

Worked = Callable[[dict[str, Any]], Report]
DENSE = {"model": "llama-3.1-70b", "precision": "bf16", "parallelism": {"tensor": 4}}
MIXTURE = {"model": "deepseek-r1", "precision": "fp8", "parallelism": {"tensor": 8, "attention": "data"}}
LENGTHS = {"prompt_tokens": 1000, "output_tokens": 500}


def plan(gpu: str = "h200-sxm", **keys: Any) -> dict[str, Any]:
    """A plan that serves a model on one server."""
    cluster = {"gpu": gpu, "servers": 1}
    return {"bomgen": 1, "name": "speed", "workload": {"inference": LENGTHS | keys}, "cluster": cluster}


def served(worked: Worked, gpu: str = "h200-sxm", **keys: Any) -> Any:
    """The results of serving of such a plan."""
    return worked(plan(gpu, **keys)).design.sizing.serving


@pytest.mark.parametrize("keys", [DENSE, MIXTURE], ids=["dense", "mixture"])
def test_the_terms_add_up(keys: dict[str, Any], worked: Worked) -> None:
    """Those of decode to the step, those of prefill to the prompt; the search and the explanation agree."""
    found = served(worked, concurrency=16, **keys)
    terms = {name: float(term.value) for name, term in found.speed.terms.items()}
    assert sum(terms.get(name, 0) for name in DECODE) == pytest.approx(float(found.speed.step.value))
    assert sum(terms.get(name, 0) for name in PROMPT) == pytest.approx(float(found.speed.prompt.value))
    plain = found.need.speed.times(float(found.in_flight.value))
    assert plain.step == pytest.approx(float(found.speed.step.value))
    assert plain.prompt == pytest.approx(float(found.speed.prompt.value))
    assert plain.tpot == pytest.approx(float(found.speed.tpot.value))


@pytest.mark.parametrize("keys", [DENSE, MIXTURE], ids=["dense", "mixture"])
def test_the_parts_that_are_fitted_are_the_times_that_are_predicted(keys: dict[str, Any], worked: Worked) -> None:
    """Parts times their terms and scales add up to TPOT and TTFT."""
    found = served(worked, concurrency=16, **keys)
    speed, load = found.need.speed, float(found.in_flight.value)
    terms, split = speed.at_line_rate(load), speed.split(load)

    def whole(parts: serving.Parts) -> float:
        return sum(seconds * np.prod([speed.coefficients.values[name] for name in names]) for names, seconds in parts)

    assert whole(serving.tpot_parts(terms, split, speed.output_tokens, 1.0)) == pytest.approx(
        float(found.speed.tpot.value)
    )
    assert whole(serving.ttft_parts(terms, split)) == pytest.approx(float(found.speed.ttft.value))


def test_a_step_by_hand(worked: Worked) -> None:
    """Weights and KV cache of Llama 3.1 70B on four H200 at 16 requests, at line rate.

    70,553,706,496 parameters less the embedding of 128,256 x 8192 and the norms of 161 x 8192 are 69,501,714,432
    weights of 2 bytes over 4 GPUs of 4.8 TB/s: 7.2398 ms. Of each request 1250 tokens of 327,680 bytes over 4 GPUs:
    16 of them take 0.34133 ms.
    """
    speed = served(worked, concurrency=16, **DENSE).need.speed
    terms = speed.at_line_rate(16.0)
    assert terms.weights == pytest.approx(69_501_714_432 * 2 / 4 / 4.8e12)
    assert terms.cache == pytest.approx(16 * 1250 * 327_680 / 4 / 4.8e12)


def test_requests_reach_distinct_experts(worked: Worked) -> None:
    """One request reads 8 of 256 experts, many read nearly all."""
    speed = served(worked, concurrency=1, **MIXTURE).need.speed
    one, many = speed.at_line_rate(1.0).experts, speed.at_line_rate(1e5).experts
    assert one / many == pytest.approx(8 / 256)


def test_many_loads_at_once_are_single_loads(worked: Worked) -> None:
    """Arrays give the numbers of single evaluations."""
    speed = served(worked, concurrency=1, **MIXTURE).need.speed
    work, machine = speed.plain
    loads = np.array([1.0, 7.0, 300.0])
    split = ReplicaSplit(*speed.split(1.0))._replace(in_flight=loads)
    together = line_rate_terms(Formula.plain, work, machine, split)
    for place, load in enumerate(loads):
        single = speed.at_line_rate(float(load))
        found = [float(np.broadcast_to(term, (3,))[place]) for term in together]
        assert found == pytest.approx(list(single))


def test_the_fit_is_of_the_rows_that_are_there() -> None:
    """`make fit` ran after the last change of rows, facts and terms."""
    found = serving.fit()
    for key, name in (("rows_sha256", serving_rows.ROWS), ("facts_sha256", serving_rows.FACTS)):
        assert found[key] == hashlib.sha256(file(name)).hexdigest()
    assert [*ServingTerms._fields, serving.INTERLEAVING, serving.BURST, serving.CONSTANT, serving.BATCH] == found[
        "terms"
    ]


def test_every_row_names_its_source_and_most_are_used() -> None:
    """Sources are in the facts; rows that are left out say why."""
    sources = serving_rows.facts()["sources"]
    assert all(fields["source"] in sources for _, fields in serving_rows.numbered_rows())
    assert all(source["url"] and source["licence"] for source in sources.values())
    rows, left_out = serving_rows.read()
    assert len(rows) > 10 * len(left_out)
    assert all(each.reason for each in left_out)


def test_the_rows_are_predicted() -> None:
    """Half of the measured times per output token are within 10 % with the coefficients of the file."""
    rows = [row for row in serving_rows.read()[0] if row.tpot and row.mixed and not row.drafting]
    errors = []
    for row in rows:
        values = serving.coefficients(row.model, row.engine, row.gpu, row.precision).values
        terms = line_rate_terms(Formula.plain, row.work, row.machine, row.split)
        parts = serving.tpot_parts(terms, row.split, row.output, 1.0)
        found = sum(seconds * np.prod([values[name] for name in names]) for names, seconds in parts)
        errors.append(abs(found * np.exp(serving.AGE * row.years) / row.tpot - 1))
    assert len(errors) > 1000
    assert np.median(errors) < 0.12


def test_intervals_widen_with_what_was_not_measured(worked: Worked) -> None:
    """Measured on the accelerator, known from others, an accelerator without rows, which has a factor of two."""

    def width(gpu: str, **keys: Any) -> float:
        span = result(worked(plan(gpu, concurrency=16, **keys)))["workload"]["latency"][
            "decode_seconds_per_token_range"
        ]
        return float(span["high"] / span["low"])

    measured = width("h200-sxm", **DENSE)
    assert measured < width("b300-sxm", **DENSE)
    assert width("mi355x", **DENSE) >= 4


def test_own_measurements_move_and_narrow_the_prediction(worked: Worked) -> None:
    """A measurement twice as long moves the prediction towards it, and its interval is narrower."""
    keys = DENSE | {"concurrency": 16}
    before = result(worked(plan(**keys)))["workload"]["latency"]
    own = {"concurrency": 16, **LENGTHS, "tpot": before["decode_seconds_per_token"] * 2}
    after = result(worked(plan(**keys, measured=[own])))["workload"]["latency"]
    assert 1.2 * before["decode_seconds_per_token"] < after["decode_seconds_per_token"]
    assert after["decode_seconds_per_token"] < 2 * before["decode_seconds_per_token"]
    spans = [each["decode_seconds_per_token_range"] for each in (before, after)]
    wide, narrow = (span["high"] / span["low"] for span in spans)
    assert narrow < wide


def test_every_time_is_explained_by_documents(worked: Worked) -> None:
    """Each predicted number rests on figures with an origin, the coefficients of each term among them."""
    numbers = numbers_of(worked(plan(concurrency=16, **MIXTURE)))
    tpot = numbers["workload", "latency", "decode_seconds_per_token"]
    origins = {str(getattr(figure.origin, "of", "")) for figure in walk(tpot)}
    assert any("term experts" in origin for origin in origins)


def test_formats_without_arithmetic_run_in_16_bits(worked: Worked) -> None:
    """FP8 on A100 and MXFP4 on H100 are served, with the arithmetic of 16 bits."""
    fp8 = served(worked, "a100-sxm-80", model="llama-3.1-8b", precision="fp8", concurrency=8)
    assert fp8.need.speed.plain[1].peak == 312e12
    mxfp4 = served(worked, "h100-sxm", model="gpt-oss-120b", concurrency=8)
    assert mxfp4.need.speed.plain[1].expert_peak == 989.4e12


def test_drafted_tokens_take_the_measured_share(worked: Worked) -> None:
    """Multi-token prediction leaves 0.58 of the time up to 8 requests in flight, 0.81 of it beyond 32."""
    for load, share in ((8, 0.58), (16, 0.74), (64, 0.81)):
        keys = MIXTURE | {"parallelism": {"tensor": 8}, "concurrency": load}
        plain, drafted = (served(worked, **keys, **more).speed.tpot.value for more in ({}, {"speculative": {}}))
        assert float(drafted / plain) == pytest.approx(share)


def test_a_cached_prefix_is_not_processed(worked: Worked) -> None:
    """A quarter of the prompt left is a quarter of its arithmetic with weights."""
    whole, rest = (served(worked, concurrency=8, **DENSE, **keys) for keys in ({}, {"prefix_cache": "75%"}))
    first, second = (each.need.speed.at_line_rate(8.0) for each in (whole, rest))
    assert second.prompt_arithmetic == pytest.approx(first.prompt_arithmetic / 4)
    assert second.weights == first.weights
