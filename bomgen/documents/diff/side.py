"""One side of a comparison: the data of a bom.json, checked as far as a comparison uses it.

Plans and bom.json files are treated alike, because a plan is first calculated to the same data.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, error_at
from bomgen.core.provenance import Mark
from bomgen.core.units import ANY_AMOUNT
from bomgen.core.yaml_source import Source
from bomgen.plan.commercial_terms import DEFAULT
from bomgen.plan.schema import CLUSTERS

DERIVATIONS = "derivations"
SECTIONS = ("cluster", "workload", "fabrics", "storage", "site", "operation")
"""Sections of bom.json with numbers."""
LARGEST = 1e300
"""Largest plausible number, near the limit of a float."""
FORMAT = 1
"""Supported version of bom.json."""
RULE = "bom"
PLAN, BILL = "plan", "bom"
WORDS_OR_NOTHING = {str, type(None)}
NOT_COMPARED = ("exact_bisection", "others", "cost_per_link", "elevations", "rows", "unplaced", "published_runs")
"""Keys below which values are not numbers of the design, or duplicate other numbers."""
MAX_DEPTH = 30
"""Maximum nesting depth of the data; bom.json has six levels."""
_MONEY = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,40})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


class Item(NamedTuple):
    """A bill line."""

    id: str
    category: str
    fabric: str | None
    role: str | None
    part: str | None
    sku: str | None
    vendor: str | None
    description: str
    quantity: int
    spare: int
    unit_price: Decimal | None
    discount: Decimal
    amount: Decimal | None
    in_stock: bool
    original_price: Decimal | None
    original_currency: str | None
    exchange_rate: Decimal | None
    cluster: str = ""
    """Its cluster, of several; also the prefix of the fabric's name."""
    required: bool = False
    """Whether another part requires it; the total is then complete without its price."""

    @property
    def lacks_price(self) -> bool:
        """Return whether the total is a lower bound because the line has no price."""
        return self.amount is None and not self.required

    @property
    def pieces(self) -> int:
        """Return installed and spare pieces."""
        return self.quantity + self.spare


class BillTotals(NamedTuple):
    """The totals of a bill."""

    currency: str
    tax: Decimal
    amount: Decimal
    complete: bool
    rates: Mapping[str, Fraction] = MappingProxyType({})
    """Tax rates of a plan by category; a bom.json does not have them."""

    @property
    def is_unknown(self) -> bool:
        """Return whether no line is priced."""
        return not self.complete and not self.amount

    @property
    def known_rates(self) -> Mapping[str, Fraction]:
        """Return the tax rates by category, as exactly as known: of a bom.json, the mean rate."""
        net = Fraction(self.amount) - Fraction(self.tax)
        return self.rates or ({DEFAULT: Fraction(self.tax) / net} if net and self.tax else {})


class Warned(NamedTuple):
    """A check with status warn."""

    id: str
    path: str
    message: str


def sum_amounts(amounts: Iterable[Decimal | None]) -> Decimal:
    """Return the exact sum of amounts; None counts as 0."""
    total = Decimal(0)
    for amount in amounts:
        total = ANY_AMOUNT.add(total, amount or Decimal(0))
    return total


Ends = tuple[int | Fraction, int | Fraction]
"""The lower and upper end of an estimate."""


class ComparedResult(NamedTuple):
    """One side of a comparison."""

    name: str
    """Name given by the user."""
    kind: str
    """`plan` or `bom`."""
    plan: str
    """Name of the plan."""
    version: str
    """Version of the program that wrote it."""
    items: tuple[Item, ...]
    totals: BillTotals
    numbers: Mapping[str, Any] = MappingProxyType({})
    """Numbers and words of the design by bom.json path."""
    units: Mapping[str, str] = MappingProxyType({})
    """Units of numbers with a known derivation."""
    fabrics: Mapping[str, str] = MappingProxyType({})
    """The role of each fabric by name, with the cluster and a dot as prefix if there are several."""
    warnings: tuple[Warned, ...] = ()
    alternatives: Mapping[str, BillTotals] = MappingProxyType({})
    """Totals of alternatives and phases by name."""
    rates_known: bool = True
    """Whether the lines have the exchange rates of their prices."""
    source: Source | None = None
    """The keys of a plan."""
    clusters: tuple[str, ...] = ()
    """Names of the clusters, if there are several."""
    shares: Mapping[str, Fraction] = MappingProxyType({})
    """For a plan, the hardware share of each charge by line id, which a bom.json does not have."""

    def prefix(self, cluster: str) -> str:
        """Return the path prefix of a cluster's numbers."""
        return f"{CLUSTERS}.{cluster}." if self.clusters else ""

    def of_cluster(self, cluster: str, key: str) -> Any:
        """Return a number of a cluster by its key; None if it has none."""
        return self.numbers.get(f"{self.prefix(cluster)}cluster.{key}")

    def fabric_path(self, fabric: str) -> str:
        """Return the bom.json path of a fabric's numbers."""
        cluster, _, name = fabric.rpartition(".") if self.clusters else ("", "", fabric)
        return f"{self.prefix(cluster)}fabrics.{name}"

    def ends(self, path: str) -> Ends | None:
        """Return the range of an estimate by the path of its number; None for other numbers."""
        low, high = (self.numbers.get(f"{path}_range.{end}") for end in ("low", "high"))
        return None if low is None or high is None else (low, high)


def bill_in(content: bytes, name: str) -> dict[str, Any] | None:
    """Return the data of a bom.json; None for other files, such as a plan.

    Raises PlanErrors for a *.json file that is not JSON.
    """
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return None
    try:
        data = json.loads(content.decode("utf-8-sig"), parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        if not name.lower().endswith(".json"):
            return None
        mark = Mark(name, getattr(error, "lineno", 1), getattr(error, "colno", 1))
        reason = getattr(error, "msg", "") or "it cannot be read"
        raise error_at(mark, f"not valid JSON: {reason}; use a bom.json written by `bomgen build`", RULE) from None
    return data if isinstance(data, dict) and "bomgen" in data and "lines" in data else None


def _finite(text: str) -> float:
    number = float(text)
    if not abs(number) <= LARGEST:
        raise ValueError(f"{text} is not a JSON number")
    return number


def compared_result_of(data: Mapping[str, Any], name: str, source: Source | None = None) -> ComparedResult:
    """Return a side from the data of a bom.json; `source` is the plan it was just calculated from.

    Raises PlanErrors if the data is not what `bomgen build` writes, or of an unknown format.
    """
    try:
        return _side(data, name, source)
    except _Wrong as error:
        raise error_at(name, f"{error}; use a bom.json written by `bomgen build`, or the plan", RULE) from None


class _Wrong(Exception):
    """The data is not valid for a bom.json."""


def _mappings(data: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    """Return a value of a bom.json that is a list or mapping of mappings."""
    value = data.get(key)
    if not isinstance(value, kind) or not all(
        isinstance(each, dict) for each in (value.values() if isinstance(value, dict) else value)
    ):
        raise _Wrong(f"`{key}` is not a {'mapping' if kind is dict else 'list'} of mappings")
    return value


def _side(data: Mapping[str, Any], name: str, source: Source | None) -> ComparedResult:
    version = data.get("bomgen")
    if version != FORMAT or isinstance(version, bool):
        raise _unknown(data, name)
    plan = _mapping(data, "plan")
    lines = data.get("lines")
    if not isinstance(lines, list):
        raise _Wrong("`lines` is not a list")
    items = tuple(_item(line, at) for at, line in enumerate(lines))
    if len({item.id for item in items}) < len(items):
        raise _Wrong("two lines have the same id")
    optional: dict[str, Any] = {CLUSTERS: {}, "checks": [], "alternatives": [], "phases": []}
    data = {**data, **{key: data.get(key) or empty for key, empty in optional.items()}}
    plan_name, totals = _text(plan, "plan.name"), _totals(data, "")
    clusters = _mappings(data, CLUSTERS, dict)
    parts = {f"{CLUSTERS}.{cluster}.": inner for cluster, inner in clusters.items()}
    numbers = {
        path: value
        for prefix, part in {"": data, **parts}.items()
        for section in SECTIONS
        for path, value in _below(part.get(section), f"{prefix}{section}", 0)
    }
    derivations = data.get(DERIVATIONS)
    derived = derivations.items() if isinstance(derivations, dict) else ()
    units = {path: unit.get("unit") for path, unit in derived if isinstance(unit, dict)}
    fabrics = {
        f"{cluster}.{fabric}" if clusters else fabric: str(each.get("role", ""))
        for cluster, part in (clusters or {"": data}).items()
        for fabric, each in _mappings(part, "fabrics", dict).items()
    }
    checks = [
        [check.get(key, "") for key in Warned._fields]
        for check in _mappings(data, "checks", list)
        if check.get("status") == "warn"
    ]
    others = [
        (key, at, other) for key in ("alternatives", "phases") for at, other in enumerate(_mappings(data, key, list))
    ]
    return ComparedResult(
        name=name,
        kind=BILL if source is None else PLAN,
        plan=plan_name,
        version=str(data.get("version", "")),
        items=items,
        totals=totals,
        numbers=numbers,
        units={path: unit for path, unit in units.items() if isinstance(unit, str)},
        fabrics=fabrics,
        # a text of a plan's result is a message, which can be translated: it is kept as it is
        warnings=tuple(Warned(*(text if isinstance(text, str) else str(text) for text in each)) for each in checks),
        alternatives={_text(other, f"{key}.{at}.name"): _totals(other, f"{key}.{at}.") for key, at, other in others},
        rates_known=all("exchange_rate" in line for line in lines),
        source=source,
        clusters=tuple(clusters),
    )


def _unknown(data: Mapping[str, Any], name: str) -> PlanErrors | _Wrong:
    """Return an error for an unknown format; the module for it is imported on demand."""
    from bomgen.core import schema

    whole = Source(name, "", data, {}, {(): Mark(name, 1, 1)})
    if newer := schema.newer(whole, "bomgen", "a bom.json", FORMAT, RULE):
        return PlanErrors([newer])
    return _Wrong(f"`bomgen` is {json.dumps(data.get('bomgen'))[: schema.MAX_QUOTED]}, not {FORMAT}")


def _mapping(data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise _Wrong(f"`{key}` is not a mapping")
    return value


def _text(data: Mapping[str, Any], path: str) -> str:
    value = data.get(path.rpartition(".")[2])
    if not isinstance(value, str):
        raise _Wrong(f"`{path}` is not text")
    return value


def _item(line: Any, at: int) -> Item:
    if not isinstance(line, dict):
        raise _Wrong(f"`lines.{at}` is not a mapping")
    get = line.get
    id, category, description = get("id"), get("category"), get("description")
    if not (isinstance(id, str) and isinstance(category, str) and isinstance(description, str)):
        raise _Wrong(f"`lines.{at}` lacks an id, a category or a description")
    fabric, role, part, sku, vendor = words = [get(key) for key in ("fabric", "role", "part", "sku", "vendor")]
    if not {*map(type, words)} <= WORDS_OR_NOTHING:
        raise _Wrong(f"`lines.{at}` has a fabric, role, part, sku or vendor that is no text")
    quantity, spare = get("quantity"), get("spare", 0)
    if type(quantity) is not int or type(spare) is not int or quantity < 0 or spare < 0:
        raise _Wrong(f"`lines.{at}` has a quantity or spares that are no whole number")
    currency, cluster = get("original_currency"), get("cluster") or ""
    if not isinstance(cluster, str):
        raise _Wrong(f"`lines.{at}` has a cluster that is no text")
    path = f"lines.{at}"
    return Item(
        *(id, category, f"{cluster}.{fabric}" if cluster and fabric else fabric, role, part, sku, vendor),
        *(description, quantity, spare, _amount(get("unit_price"), path)),
        *(_amount(get("discount"), path) or Decimal(0), _amount(get("amount"), path)),
        *(bool(get("in_stock")), _amount(get("original_price"), path)),
        *(currency if isinstance(currency, str) else None, _amount(get("exchange_rate"), path)),
        *(cluster, get("required_by") is not None),
    )


def _amount(value: Any, path: str) -> Decimal | None:
    if value is None:
        return None
    if not isinstance(value, str) or not _MONEY.fullmatch(value):
        raise _Wrong(f"`{path}` has an amount that is no decimal number in quotes")
    return Decimal(value, ANY_AMOUNT)


def _totals(holder: Mapping[str, Any], prefix: str) -> BillTotals:
    path, data = f"{prefix}totals", _mapping(holder, "totals")
    currency, complete = data.get("currency"), data.get("complete")
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency) or not isinstance(complete, bool):
        raise _Wrong(f"`{path}` lacks a currency, or whether it is complete")
    tax, amount = (_amount(data.get(key), f"{path}.{key}") for key in ("tax", "amount"))
    if amount is None:
        raise _Wrong(f"`{path}.amount` is missing")
    return BillTotals(currency, tax or Decimal(0), amount, complete)


def _below(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > MAX_DEPTH:
        raise _Wrong(f"`{path[:MAX_DEPTH]}...` is nested too deep")
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in NOT_COMPARED:
                yield from _below(inner, f"{path}.{key}", depth + 1)
    elif isinstance(value, list):
        if all(isinstance(each, str) for each in value):
            yield path, ", ".join(value)
    elif isinstance(value, int | float) and abs(value) > LARGEST:
        raise _Wrong(f"`{path}` is too large")
    elif value is not None:
        yield path, value
