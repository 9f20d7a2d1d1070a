"""Reasons for all choices of a result, as pure functions of a report."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.core.language import Language
from bomgen.pricing.bill_line import cluster_path
from bomgen.results.reasons import fabrics, machines
from bomgen.results.reasons.types import Other, Reason, ReasonInputs, Topic
from bomgen.results.result import Report

__all__ = ["Other", "Reason", "ReasonInputs", "Topic", "find_reasons", "reasons"]


def topics(asked: ReasonInputs) -> Iterator[Topic]:
    """Yield every choice that was made for a plan."""
    for topics_of in (
        machines.parallelism_topics,
        machines.machine_topics,
        fabrics.fabric_topics,
        fabrics.line_card_topics,
        fabrics.link_topics,
    ):
        yield from topics_of(asked)


def find_reasons(report: Report, words: Language, path: str | None = None, wide: bool = True) -> list[Reason]:
    """Return the reasons for the choices at a path of a result; for all choices without a path.

    `words`: the language of the numbers in the texts; `wide`: include reasons below the path.
    """
    found = list[Reason]()
    for cluster in report.each_cluster:
        name = cluster.plan.cluster_name
        place = "".join(f"{step}." for step in cluster_path(name))
        inner = None if path is None or place.startswith(f"{path}.") else path.removeprefix(place)
        if name and inner == path and path is not None:
            if not path.startswith(f"{name}."):
                continue
            inner = path.removeprefix(f"{name}.")
        about = reasons(ReasonInputs(cluster, words), inner, wide)
        found += [reason._replace(subject=f"{place}{reason.subject}") for reason in about]
    return found


def reasons(asked: ReasonInputs, path: str | None, wide: bool = True) -> list[Reason]:
    """Return the reasons for the choices at a bom.json path or on a bill line; all of them without a path.

    `wide`: include reasons below the path.
    """
    found = (topic.reason() for topic in topics(asked) if path is None or _is_about(topic, path, wide))
    return [reason for reason in found if reason]


def _is_about(topic: Topic, path: str, wide: bool) -> bool:
    known = (topic.subject, *topic.covers)
    above = any(path == each or path.startswith(f"{each}.") for each in known)
    return above or (wide and any(each.startswith(f"{path}.") for each in known))
