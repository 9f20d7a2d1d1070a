"""The sizing chapter: what the workload needs and what the cluster makes of it."""

from __future__ import annotations

from bomgen.chapters.writer import Writer
from bomgen.document import Note, Section


def sizing(writer: Writer) -> Section:
    """What the workload needs, how it is cut up, and what the cluster makes of it."""
    memory, parallelism = ("workload", "memory"), ("workload", "parallelism")
    tables = [writer.table("cluster", tuple(writer.rows(("cluster",))))]
    texts: list[str] = []
    notes: list[Note] = []
    if writer.report.design.sizing.run:
        training = writer.report.plan.training
        rows = tuple(writer.rows(("workload",), (memory, parallelism)))
        tables.insert(0, writer.table("training", rows))
        if training:
            texts.append(writer.word(f"convention-{training.attention.value}"))
    if fit := writer.report.design.sizing.fit:
        tables.append(writer.table("parallelism", tuple(writer.rows(parallelism))))
        tables.append(
            writer.table(
                "memory-per-gpu", tuple(writer.rows((*memory, "per_gpu"))) + tuple(writer.rows((*memory, "gpu")))
            )
        )
        replica = tuple(writer.rows(memory, ((*memory, "per_gpu"), (*memory, "gpu"))))
        tables.append(writer.table("memory-replica", replica))
        notes += [Note("info", reason) for reason in fit.reasons]
        if fit.fits is None:
            notes.append(Note("info", writer.word("memory-unknown")))
    title = writer.word("section-sizing")
    return Section("sizing", title, text=tuple(texts), tables=tuple(tables), notes=tuple(notes))
