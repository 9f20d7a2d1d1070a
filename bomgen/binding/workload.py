"""The workload block of a plan."""

from __future__ import annotations

from functools import partial

from bomgen import records
from bomgen.binding.section import Section
from bomgen.figures import Figure
from bomgen.plan import Parallelism, Training


def training(section: Section) -> Training | None:
    """A training run; None when something in it is wrong, which the section notes."""
    model = section.part("model", "model", records.model)
    tokens = section.figure("tokens", "tokens")
    achieved = section.figure("achieved_tflops", "TFLOP/s")
    token_rate = section.figure("tokens_per_second_per_gpu", "tokens/s")
    measured = achieved is not None or token_rate is not None
    mfu = section.figure("mfu", "share", None if measured else "training-mfu")
    sequence = section.figure("sequence", "tokens") or (model.shape.get("context") if model else None)
    run = partial(
        Training,
        mark=section.mark,
        epochs=section.quantity("epochs", "count", "training-epochs"),
        target_days=section.figure("target_days", "days"),
        precision=section.word("precision", "training-precision"),
        mfu=mfu,
        achieved_tflops=achieved,
        tokens_per_second_per_gpu=token_rate,
        attention=section.word("attention", "training-attention"),
        recompute=section.word("recompute", "training-recompute"),
        parallel_efficiency=section.quantity("parallel_efficiency", "share", "training-parallel-efficiency"),
        goodput=section.quantity("goodput", "share", "training-goodput"),
        sequence=sequence,
        micro_batch=section.quantity("micro_batch", "count", "training-micro-batch"),
        batch_tokens=section.figure("batch_tokens", "tokens"),
        optimizer=section.word("optimizer", "training-optimizer"),
        gradient_precision=section.word("gradient_precision", "training-gradient-precision"),
        zero=section.quantity("zero", "count", "training-zero", zero=True),
        parallelism=_parallelism(section.below("parallelism")),
        flops_per_parameter_token=section.catalog.assumption("flops-per-parameter-token"),
        recompute_flops_per_parameter_token=section.catalog.assumption("recompute-flops-per-parameter-token"),
    )
    return None if model is None or tokens is None else run(model=model, tokens=tokens)


def _parallelism(section: Section) -> Parallelism | None:
    if not section.data:
        return None

    def degree(key: str) -> Figure:
        return section.quantity(key, "count", "parallelism-degree")

    return Parallelism(
        tensor=degree("tensor"),
        pipeline=degree("pipeline"),
        interleave=degree("interleave"),
        context=degree("context"),
        expert=degree("expert"),
        sequence_parallel=bool(section.data.get("sequence_parallel", False)),
        mark=section.mark,
    )
