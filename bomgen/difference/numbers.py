"""Which numbers of the design changed, which of them a reader looks at first, and what people call them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any, NamedTuple

from bomgen.difference.side import Side

FABRICS = "fabrics"
CLUSTER = "cluster"
UNITS = {
    "_w": "W",
    "_gbps": "Gb/s",
    "_kg": "kg",
    "_days": "days",
    "_bytes": "bytes",
    "_bytes_per_second": "bytes/s",
    "_seconds": "s",
    "_kwh": "kWh",
    "_flops": "FLOP/s",
    "mfu": "share",
    "goodput": "share",
}
"""Units that the end of a key promises, where no derivation says one."""
WORDS = {
    "gpu": "GPU",
    "gpus": "GPUs",
    "server": "server",
    "servers": "servers",
    "spare_servers": "spare servers",
    "power_w": "power",
    "gpus_required": "GPUs required",
    "days": "days of training",
    "mfu": "MFU",
    "tokens_per_second": "tokens a second",
    "replicas": "replicas",
    "gpus_per_replica": "GPUs of a replica",
    "requests_per_minute": "requests a minute",
    "concurrency": "requests in flight",
    "peak_flops": "computing power",
    "parameters": "parameters",
    "nics": "NICs",
    "topology": "topology",
    "switches.leaf": "leaf switches",
    "switches.spine": "spine switches",
    "switches.core": "core switches",
    "tiers": "tiers",
    "planes": "planes",
    "link_gbps": "rate of a link",
    "endpoints": "endpoints",
    "links.server-leaf": "links server to leaf",
    "links.leaf-spine": "links leaf to spine",
    "links.spine-core": "links spine to core",
    "links.local": "links inside groups",
    "links.global": "links between groups",
    "transceivers.total": "modules",
    "cables_total": "cables",
    "oversubscription.leaf": "oversubscription of leaves",
    "oversubscription.spine": "oversubscription of spines",
    "bisection_gbps": "bisection",
    "growth": "endpoints that still fit",
    "free_ports.leaf": "free ports of leaves",
    "free_ports.spine": "free ports of spines",
    "free_ports.core": "free ports of cores",
    "links_chosen.server-leaf.way": "server to leaf built as",
    "links_chosen.leaf-spine.way": "leaf to spine built as",
    "links_chosen.spine-core.way": "spine to core built as",
    "capacity_bytes": "capacity",
    "read_bytes_per_second": "reading",
    "write_bytes_per_second": "writing",
    "racks": "racks",
    "facility_power_w": "power of the facility",
    "energy_cost_per_year": "energy a year",
    "total_cost": "cost over the years",
    "cost_per_gpu_hour": "cost of a GPU-hour",
}
"""What the numbers that matter are called, in the order of importance, by the end of their path below its group."""
COSTS = ("energy_cost_per_year", "total_cost", "cost_per_gpu_hour")
_MONEY = "money"
_RANKS = {key: rank for rank, key in enumerate(WORDS)}


class Changed(NamedTuple):
    """A number or word of the design that is not what it was; None where it is not there."""

    path: str
    group: str
    """`cluster`, `workload`, the name of a fabric after `fabrics.`, `storage`, `site`, `operation`."""
    label: str
    unit: str
    old: Any
    new: Any
    important: bool

    @property
    def change(self) -> int | Fraction | None:
        """How much more it is; None for words, and where one side does not have it."""
        if not (_is_number(self.old) and _is_number(self.new)):
            return None
        more = Fraction(self.new) - Fraction(self.old)
        return more.numerator if more.denominator == 1 else more


def changed_numbers(old: Side, new: Side, renamed: Mapping[str, str]) -> list[Changed]:
    """What changed on both sides but for fabrics that are new or gone, group by group, what matters first."""
    before = {_moved(path, renamed): path for path in old.numbers}
    kept = set(new.fabrics) & {renamed.get(name, name) for name in old.fabrics}
    found = []
    for path in dict.fromkeys((*new.numbers, *before)):
        was = old.numbers.get(before.get(path, ""))
        became = new.numbers.get(path)
        if was == became and type(was) is type(became):
            continue
        group, key = _group(path)
        if group.startswith(f"{FABRICS}.") and group.partition(".")[2] not in kept:
            continue
        if not (was or became) or _only_spelled(was, became):
            continue
        unit = new.units.get(path) or old.units.get(before.get(path, "")) or _unit(key)
        label = WORDS.get(key) or key.replace("_", " ").replace(".", ", ")
        found.append(Changed(path, group, label, unit, was, became, key in WORDS and not _is_aside(path)))
    groups = {group: rank for rank, group in enumerate(dict.fromkeys(_groups(old, new)))}
    return sorted(found, key=lambda each: (groups.get(each.group, len(groups)), not each.important, rank(each)))


def described(side: Side, fabric: str) -> str:
    """A fabric in a few words, for one that is new or gone."""
    base = f"{FABRICS}.{fabric}"
    get = side.numbers.get
    tiers = [f"{count} {tier}" for tier in ("leaf", "spine", "core") if (count := get(f"{base}.switches.{tier}"))]
    links = sum(
        value for path, value in side.numbers.items() if path.startswith(f"{base}.links.") and _is_number(value)
    )
    return f"{get(f'{base}.topology') or 'a fabric'}: {' + '.join(tiers) or 'no switches'}, {links} links"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _only_spelled(was: Any, became: Any) -> bool:
    """Whether a number is only written otherwise, such as 1 and 1.0."""
    return _is_number(was) and _is_number(became) and Fraction(was) == Fraction(became)


def _is_aside(path: str) -> bool:
    """Whether a path is of a second opinion or a range, not of the design."""
    return "second_opinion" in path or "_range" in path


def _moved(path: str, renamed: Mapping[str, str]) -> str:
    """The path of an old number as the new side would have it."""
    for was, became in renamed.items():
        if path.startswith(f"{FABRICS}.{was}."):
            return f"{FABRICS}.{became}{path[len(FABRICS) + 1 + len(was) :]}"
    return path


def _group(path: str) -> tuple[str, str]:
    """The group of a path and the key below it."""
    first, _, rest = path.partition(".")
    if first != FABRICS:
        return first, rest
    name, _, key = rest.partition(".")
    return f"{FABRICS}.{name}", key


def _groups(old: Side, new: Side) -> Iterator[str]:
    yield from (CLUSTER, "workload")
    yield from (f"{FABRICS}.{name}" for name in (*new.fabrics, *old.fabrics))
    yield from ("storage", "site", "operation")


def _unit(key: str) -> str:
    if key in COSTS:
        return _MONEY
    found = [unit for end, unit in UNITS.items() if key.endswith(end)]
    return max(found, key=len) if found else ""


def rank(each: Changed) -> int:
    """How early a reader wants to see it, whatever it belongs to."""
    return _RANKS.get(_group(each.path)[1], len(_RANKS))
