"""The prediction of serving: its terms, their sum, its fit, intervals and own measurements."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import serving_rows

from bomgen.core.provenance import walk
from bomgen.output.writer import render
from bomgen.results.result import Report, numbers_of, result
from bomgen.sizing.prediction import serving
from bomgen.sizing.prediction.coefficients import SERVING_FACTS, SERVING_FIT, file, load, numbered_rows
from bomgen.sizing.prediction.serving_terms import (
    CHUNKED,
    COEFFICIENTS,
    DECODE,
    PROMPT,
    READING,
    Load,
    Parts,
    ReplicaSplit,
    line_rate_terms,
    times_of_load,
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
def test_a_plan_and_a_search_get_the_same_times(keys: dict[str, Any], worked: Worked) -> None:
    """The figures of the result are the numbers that splits are compared by."""
    found = served(worked, concurrency=16, **keys)
    times, speed = found.need.speed.times(float(found.in_flight.value)), found.speed
    assert times.ttft == pytest.approx(float(speed.ttft.value))
    assert times.undisturbed == pytest.approx(float(speed.undisturbed.value))
    assert times.shared == pytest.approx(float(speed.shared.value))


@pytest.mark.parametrize(("longest", "load", "part"), [(1.0, {}, 0.1), (2.0, {}, 0.0), (1.0, {"per": 60}, 0.0)])
def test_prompts_of_others_are_counted_once(longest: float, load: dict[str, int], part: float, worked: Worked) -> None:
    """What delays a first token is not in the time per output token; where requests start apart, nothing delays it."""
    lengths = {key: {"mean": mean, "p95": int(mean * longest)} for key, mean in LENGTHS.items()}
    keys = {"requests_per_minute": load["per"]} if load else {"concurrency": 1}
    speed = served(worked, **DENSE | lengths | keys).need.speed
    alone, times = speed.times(1.0), speed.times(17.0)
    waiting = serving.OVERLAP * 16 * times.shared
    assert times.ttft - times.undisturbed == pytest.approx(part * waiting)
    assert times.tpot - times.decode == pytest.approx((1 - part) * waiting / 500)
    assert alone.tpot == pytest.approx(alone.decode)


def test_sglang_processes_prompts_in_steps_of_their_own(worked: Worked) -> None:
    """Short prompts that arrive apart share no chunk, unless outputs are short; equal ones, and vLLM's, do."""

    def chunked(longest: int, output: int = 500, **keys: Any) -> float:
        means = {"prompt_tokens": 1000, "output_tokens": output}
        lengths = {key: {"mean": mean, "p95": mean * longest} for key, mean in means.items()}
        speed = served(worked, concurrency=1, **DENSE | lengths | keys).need.speed
        alone, times = speed.times(1.0), speed.times(16.0)
        return float((alone.prompt - times.shared) / alone.prompt)

    assert chunked(2, engine="sglang") == pytest.approx(0)
    assert chunked(1, engine="sglang") > 0.1
    assert chunked(2, engine="vllm") > 0.1
    assert 0 < chunked(2, output=6, engine="sglang") < chunked(2, output=3, engine="sglang")


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
    together = line_rate_terms(work, machine, split)
    for place, in_flight in enumerate(loads):
        single = speed.at_line_rate(float(in_flight))
        found = [float(np.broadcast_to(term, (3,))[place]) for term in together]
        assert found == pytest.approx(list(single))


def test_the_fit_is_of_the_rows_that_are_there() -> None:
    """`make fit` ran after the last change of rows, facts and terms."""
    found = load(SERVING_FIT)
    for key, name in (("rows_sha256", serving_rows.ROWS), ("facts_sha256", SERVING_FACTS)):
        assert found[key] == hashlib.sha256(file(name)).hexdigest()
    assert set(found["terms"]) == {*COEFFICIENTS.values(), serving.CONSTANT}
    assert len(found["terms"]) == 9


def test_every_row_names_its_source_and_most_are_used() -> None:
    """Sources are in the facts; rows that are left out say why."""
    sources = load(SERVING_FACTS)["sources"]
    assert all(fields["source"] in sources for _, fields in numbered_rows(serving_rows.ROWS))
    assert all(source["url"] and source["licence"] for source in sources.values())
    rows, left_out = serving_rows.read()
    assert len(rows) > 10 * len(left_out)
    assert all(each.reason for each in left_out)


def test_the_rows_are_predicted() -> None:
    """Half of the measured times per output token are within 10 % with the coefficients of the file."""
    rows = [row for row in serving_rows.read()[0] if row.tpot and row.mixed and row.split.verified == 1]
    errors, below = [], 0
    for row in rows:
        kind = "moe" if row.work.expert_weights else "dense"
        known = serving.coefficients(row.model, row.engine, row.gpu, row.fields["precision"], kind)
        terms = line_rate_terms(row.work, row.machine, row.split)._asdict()
        found = {name: known.values.get(COEFFICIENTS.get(name, ""), 1.0) * terms[name] for name in terms}
        prompt = sum(found[name] for name in PROMPT if name not in CHUNKED), sum(found[name] for name in CHUNKED)
        step = sum(found[name] for name in DECODE)
        parts = Parts(step, *prompt, constant=0.0)
        times = times_of_load(parts, row.work, row.split, Load(row.output, 1.0, 1.0, row.apart, row.waited))
        errors.append(abs(times.tpot * known.corrections[serving.TPOT] / row.tpot - 1))
        below += row.tpot < sum(terms[name] for name in READING)
    assert len(errors) > 1000
    assert below < len(rows) / 100, "rows whose KV cache may have 8 bits"
    assert np.median(errors) < 0.1


def test_intervals_widen_with_what_was_not_measured(worked: Worked) -> None:
    """Mixtures err more than dense models in SGLang; accelerators and formats without rows have a factor of two."""

    def width(gpu: str, **keys: Any) -> float:
        span = result(worked(plan(gpu, concurrency=16, **keys)))["workload"]["latency"][
            "decode_seconds_per_token_range"
        ]
        return float(span["high"] / span["low"])

    assert width("h200-sxm", engine="sglang", **DENSE) < width("h200-sxm", engine="sglang", **MIXTURE)
    assert width("mi355x", **DENSE) >= 3.99
    assert width("h200-sxm", **(DENSE | {"precision": "int4"})) >= 3.99


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
    assert any("term memory" in origin for origin in origins)


def test_formats_without_arithmetic_run_in_16_bits(worked: Worked) -> None:
    """FP8 on A100 and MXFP4 on H100 are served, with the arithmetic of 16 bits."""
    fp8 = served(worked, "a100-sxm-80", model="llama-3.1-8b", precision="fp8", concurrency=8)
    assert fp8.need.speed.plain[1].peak == 312e12
    mxfp4 = served(worked, "h100-sxm", model="gpt-oss-120b", concurrency=8)
    assert mxfp4.need.speed.plain[1].expert_peak == 989.4e12


def test_drafted_tokens_by_formula(worked: Worked) -> None:
    """A step verifies all tokens; drafts take 1.5 layers each; accepted ones are won."""
    keys = MIXTURE | {"parallelism": {"tensor": 8}, "concurrency": 8}
    plain, drafted = (
        served(worked, **keys, **more).need.speed for more in ({}, {"speculative": {"drafted": 3, "accepted": 2.1}})
    )
    assert drafted.at_line_rate(8.0).arithmetic == pytest.approx(4 * plain.at_line_rate(8.0).arithmetic)
    assert drafted.at_line_rate(8.0).cache == pytest.approx(plain.at_line_rate(8.0).cache)
    times = drafted.times(8.0)
    assert times.decode == pytest.approx(times.step * (1 + 1.5 * 3 / 61) / 3.1)
    assert 0.3 < times.decode / plain.times(8.0).decode < 0.7


def test_a_cached_prefix_is_not_processed(worked: Worked) -> None:
    """A quarter of the prompt left is a quarter of its arithmetic with weights."""
    whole, rest = (served(worked, concurrency=8, **DENSE, **keys) for keys in ({}, {"prefix_cache": "75%"}))
    first, second = (each.need.speed.at_line_rate(8.0) for each in (whole, rest))
    assert second.prompt_arithmetic == pytest.approx(first.prompt_arithmetic / 4)
    assert second.weights == first.weights


def test_the_rows_of_an_accelerator_are_counted() -> None:
    """By accelerator, kind of model and number of models, as the fit noted them."""
    times = "tpot", "ttft", "request", "batch"
    rows = [row for row in serving_rows.read()[0] if any(getattr(row, time) for time in times)]
    for gpu, kinds in load(SERVING_FIT)["measured"].items():
        for kind, counts in kinds.items():
            of_kind = [row for row in rows if row.gpu == gpu and (row.work.expert_weights > 0) == (kind == "moe")]
            assert counts == {"rows": len(of_kind), "models": len({row.model for row in of_kind})}


@pytest.mark.parametrize(
    ("gpu", "keys", "said"),
    [
        ("h100-sxm", {}, None),
        ("b200-sxm", {"model": "qwen3-32b"}, "(measurements: 120, models: 1)"),
        ("h20", {}, "No published measurement of "),
        ("h20", {"measured": [{"concurrency": 16, **LENGTHS, "tpot": "30 ms"}]}, None),
        ("h100-sxm", {"precision": "int4"}, "No published measurement has weights in int4"),
    ],
)
def test_few_rows_of_an_accelerator_are_told(gpu: str, keys: dict[str, Any], said: str | None, worked: Worked) -> None:
    """In report and quote, not where the accelerator has rows of several models, or the plan has its own."""
    asked = {"model": "llama-3.1-70b", "precision": "fp8", "parallelism": {"tensor": 8}, "concurrency": 16}
    for text in render(worked(plan(gpu, **asked | keys)), ("report.md", "md")).values():
        notes = text.decode("utf-8")
        assert said in notes if said else "measure a replica before" not in notes
