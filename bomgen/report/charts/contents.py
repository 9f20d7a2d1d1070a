"""Which charts a report has, by the chapter that they stand in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from bomgen.report.chapters.writer import Writer
from bomgen.report.charts import money, site, sizing
from bomgen.report.charts.types import Chart

Charts = Callable[[Writer], Iterator[Chart]]
OF_PLAN: Mapping[str, tuple[Charts, ...]] = {
    "costs": (money.categories, money.price_range),
    "alternatives": (money.alternatives,),
}
"""By the id of a section about the whole plan."""
OF_CLUSTER: Mapping[str, tuple[Charts, ...]] = {
    "serving": (sizing.serving_memory,),
    "sizing": (sizing.training_memory, sizing.predicted_range, sizing.run_sensitivity),
    "network": (site.cable_lengths,),
    "site": (site.power_line, site.rack_power),
}
"""By the id of a section about a cluster."""


def charts_of(writer: Writer, section: str, of: Mapping[str, tuple[Charts, ...]]) -> Iterator[Chart]:
    """The charts of a section of a plan or cluster."""
    return (chart for make in of.get(section, ()) for chart in make(writer))
