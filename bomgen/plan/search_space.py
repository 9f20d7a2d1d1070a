"""The search space of `bomgen search`: what it varies, minimises and bounds, from the plan and from options.

A value of a key is kept as the YAML text of a `--set` setting, so that a design of a search is exactly the plan with
settings applied.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import chain
from math import prod
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.document import measures, serving_measures
from bomgen.core.messages import suggestion
from bomgen.core.provenance import Mark
from bomgen.core.units import MONEY, decimal, parse
from bomgen.core.yaml_edit import write_scalar
from bomgen.core.yaml_source import MAX_DIGITS, Source, encoded, read

KEY = "search"
OVER, MINIMISE, WITHIN = "over", "minimise", "within"
SOLD = "sold"
"""The value of an axis of servers that stands for a server of each GPU that is sold."""
MEASURES = measures()
"""Measures that may be minimised or bounded, with their units: the cost of the quote, the days of the run ..."""
SERVING = serving_measures()
"""Those of a served model, with path and whether more is better; only a search that asks for one has them."""
LARGER_IS_BETTER = frozenset(name for name, (_, more) in SERVING.items() if more)
DEFAULT_MINIMISE = ("cost", "days", "power")
MAX_DESIGNS = 10**9
"""Maximum number of designs; a search calculates every one, and more are a mistake or a night's work."""
MAX_COUNTED = 10**18
"""Number of designs from which on a message does not count them."""
MAX_LISTED = 100_000
"""Maximum number of values of a key that are listed one by one; a range by itself is not."""
_NUMBER = rf"[0-9]{{1,{MAX_DIGITS}}}"
_RANGE = re.compile(rf"({_NUMBER})\s*\.\.\s*({_NUMBER})(?:\s+step\s+(?=[1-9])({_NUMBER}))?")
_RULE = "search"
_OPTIONS = {OVER: "<over>", MINIMISE: "<minimise>", WITHIN: "<within>"}
"""The file names of the options in marks, as `<set>` is that of settings."""


class Axis(NamedTuple):
    """A key of the plan with the values to try."""

    key: str
    values: tuple[str, ...] | range
    """The values as YAML texts, or a range of integers, none of which is stored."""
    mark: Mark

    @property
    def written(self) -> list[str]:
        """Return the values as a plan may give them: a range as one text."""
        if not isinstance(self.values, range):
            return list(self.values)
        step = f" step {self.values.step}" if self.values.step > 1 else ""
        return [f"{self.values[0]}..{self.values[-1]}{step}"]


class MeasureLimit(NamedTuple):
    """The maximum of a measure."""

    measure: str
    most: Fraction


class SearchSpace(NamedTuple):
    """All designs of a search: every combination of the values of its axes, the last axis varying fastest."""

    axes: tuple[Axis, ...]
    minimise: tuple[str, ...]
    within: tuple[MeasureLimit, ...]
    chosen: bool
    """Whether the plan or an option sets what to minimise."""
    currency: str = ""
    """Currency of the cost of the designs."""
    confidence: int | None = None
    """Confidence level in percent: predicted days count at the upper end of its interval; None: as predicted."""
    always: tuple[str, ...] = ()
    """Settings that every design has."""

    @property
    def serves(self) -> bool:
        """Return whether a measure of serving is compared or bounded."""
        return not SERVING.keys().isdisjoint((*self.minimise, *(bound.measure for bound in self.within)))

    @property
    def size(self) -> int:
        """Return the number of designs."""
        return prod(len(axis.values) for axis in self.axes)

    def values(self, index: int) -> tuple[str, ...]:
        """Return the values of a design, axis by axis; `index` counts from 0."""
        texts = list[str]()
        for axis in reversed(self.axes):
            index, position = divmod(index, len(axis.values))
            texts.append(str(axis.values[position]))
        return tuple(reversed(texts))

    def settings(self, index: int) -> tuple[str, ...]:
        """Return a design as settings to apply to the plan."""
        values = zip(self.axes, self.values(index), strict=True)
        return (*self.always, *(f"{axis.key}={value}" for axis, value in values))


def search_space(
    source: Source, over: Sequence[str] = (), minimise: Sequence[str] = (), within: Sequence[str] = ()
) -> SearchSpace:
    """Return the search that a plan describes; options override it, key by key.

    `over` are `KEY=VALUE,VALUE`, `minimise` are `NAME,NAME`, `within` are `NAME=MOST,NAME=MOST`.

    Raises PlanErrors for an invalid key, an unknown measure, a range without an end, too many designs.
    """
    data: Mapping[str, Any] = source.data.get(KEY) or {}
    problems = list[Problem]()
    axes = {
        key: _axis(key, value, source.mark((KEY, OVER, key)), problems) for key, value in (data.get(OVER) or {}).items()
    }
    for key, text, mark in _pairs(over, OVER, problems):
        if (values := _read(f"[{text}]", mark, problems)) is not None:
            axes[key] = _axis(key, values, mark, problems)
    named = [(name, source.mark((KEY, MINIMISE, at))) for at, name in enumerate(data.get(MINIMISE) or ())]
    if minimise:
        options = enumerate(minimise, start=1)
        named = [(name.strip(), Mark(_OPTIONS[MINIMISE], at, 1)) for at, text in options for name in text.split(",")]
    bounds = {name: (value, source.mark((KEY, WITHIN, name))) for name, value in (data.get(WITHIN) or {}).items()}
    for at, text in enumerate(within, start=1):
        mark = Mark(_OPTIONS[WITHIN], at, 1)
        for name, most, _ in _pairs(text.split(","), WITHIN, problems, mark):
            bounds[name] = (most.strip(), mark)
    measures = dict.fromkeys(name for name, mark in named if _is_known(name, mark, problems))
    limits = [_bound(name, value, mark, problems) for name, (value, mark) in bounds.items()]
    space = SearchSpace(
        tuple(axis for axis in axes.values() if axis is not None),
        tuple(measures) or DEFAULT_MINIMISE,
        tuple(bound for bound in limits if bound is not None),
        bool(measures),
    )
    mark = source.mark((KEY,))
    if not axes and not problems:
        message = "nothing to search over; set keys with values under `search.over`, or with --over KEY=VALUE,VALUE"
        problems.append(Problem(mark, "error", message, _RULE, KEY))
    elif space.size > MAX_DESIGNS:
        size = f"{space.size}" if space.size < MAX_COUNTED else f"over {MAX_COUNTED}"
        message = f"{size} designs; at most {MAX_DESIGNS} are evaluated, use fewer values or ranges with a step"
        problems.append(Problem(mark, "error", message, _RULE, KEY))
    if problems:
        raise PlanErrors(problems)
    return space


def _pairs(
    texts: Sequence[str], option: str, problems: list[Problem], at: Mark | None = None
) -> Iterator[tuple[str, str, Mark]]:
    for number, text in enumerate(texts, start=1):
        mark = at or Mark(_OPTIONS[option], number, 1)
        encoded(text, mark.file, mark.line)
        key, equals, value = text.partition("=")
        if equals and all(key.strip().split(".")) and value.strip():
            yield key.strip(), value, mark
        else:
            message = f"'{text}' is not a {'key with values' if option == OVER else 'bound'}; write {_EXAMPLES[option]}"
            problems.append(Problem(mark, "error", message, _RULE))


_EXAMPLES = {OVER: "cluster.gpu=h100-sxm,b200-sxm", WITHIN: "power=5MW,days=30"}


def _read(text: str, mark: Mark, problems: list[Problem]) -> Any:
    """Return the value of YAML text; None, and a problem, where it is invalid."""
    try:
        return read(text, mark.file).data
    except PlanErrors as errors:
        problems += [problem._replace(mark=mark) for problem in errors.problems]
        return None


def _axis(key: str, value: Any, mark: Mark, problems: list[Problem]) -> Axis | None:
    """Return the values of a key: a list, a range `8..512`, a range `8..512 step 8`, or one value."""
    if key.partition(".")[0] == KEY:
        problems.append(Problem(mark, "error", f"{key} is not a key of a design; use another", _RULE, key))
        return None
    items = value if isinstance(value, list) else [value]
    if not items:
        problems.append(Problem(mark, "error", f"no values for {key}; set at least one, or remove the key", _RULE, key))
        return None
    lists = [_values(item, mark, problems) for item in items]
    if len(lists) == 1 and isinstance(lists[0], range):
        return Axis(key, lists[0], mark)
    if sum(map(len, lists)) > MAX_LISTED:
        problems.append(Problem(mark, "error", f"more than {MAX_LISTED} values in a list; use a range", _RULE, key))
        return None
    return Axis(key, tuple(dict.fromkeys(map(str, chain.from_iterable(lists)))), mark)


def _values(value: Any, mark: Mark, problems: list[Problem]) -> range | tuple[str, ...]:
    """Return a range of integers, of a too long one its first part; another value alone."""
    match = _RANGE.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is None:
        return (write_scalar(_with_decimals(value)),)
    first, last, step = int(match[1]), int(match[2]), int(match[3] or 1)
    if first > last:
        problems.append(Problem(mark, "error", f"{value} is an empty range; write the smaller number first", _RULE))
    return range(first, min(last, first + step * MAX_DESIGNS) + 1, step)


def _with_decimals(value: Any) -> Any:
    """Return data with decimals in place of fractions, which YAML cannot write."""
    if isinstance(value, dict):
        return {key: _with_decimals(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_decimals(item) for item in value]
    return decimal(value) if isinstance(value, Fraction) else value


def _is_known(name: str, mark: Mark, problems: list[Problem]) -> bool:
    if name in MEASURES:
        return True
    problems.append(Problem(mark, "error", f"unknown measure '{name}'; {suggestion(name, MEASURES)}", _RULE))
    return False


def _bound(name: str, value: Any, mark: Mark, problems: list[Problem]) -> MeasureLimit | None:
    if not _is_known(name, mark, problems):
        return None
    unit = MEASURES[name]
    try:
        return MeasureLimit(name, Fraction(parse(value, "count" if unit == MONEY else unit)))
    except ValueError as error:
        problems.append(Problem(mark, "error", str(error), "unit"))
        return None
