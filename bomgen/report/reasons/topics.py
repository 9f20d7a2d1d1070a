"""Why something was chosen, and which alternatives were not, with the reason: pure functions over a report."""

from __future__ import annotations

from collections.abc import Iterator

from bomgen.report.reasons import fabrics, line_cards, links, machines, parallelism
from bomgen.report.reasons.types import Asked, Other, Reason, Topic

__all__ = ["Asked", "Other", "Reason", "Topic", "reasons", "subjects"]


def topics(asked: Asked) -> Iterator[Topic]:
    """Everything that was chosen for a plan."""
    for module in (parallelism, machines, fabrics, line_cards, links):
        yield from module.topics(asked)


def reasons(asked: Asked, path: str | None, wide: bool = True) -> list[Reason]:
    """The reasons for what stands at a path of bom.json or on a line of the bill; all of them without one.

    `wide`: also those for what lies below the path.
    """
    found = (topic.reason() for topic in topics(asked) if path is None or _is_about(topic, path, wide))
    return [reason for reason in found if reason]


def subjects(asked: Asked) -> list[str]:
    """What there are reasons for."""
    return [topic.subject for topic in topics(asked)]


def _is_about(topic: Topic, path: str, wide: bool) -> bool:
    known = (topic.subject, *topic.covers)
    above = any(path == each or path.startswith(f"{each}.") for each in known)
    return above or (wide and any(each.startswith(f"{path}.") for each in known))
