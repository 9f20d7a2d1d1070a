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
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import Mark
from bomgen.core.units import ANY_AMOUNT
from bomgen.plan.clusters import KEY as CLUSTERS
from bomgen.plan.commercial_terms import DEFAULT

if TYPE_CHECKING:
    from bomgen.core.yaml_source import Source

# bom json -----------------------------------------------------------------------------------------------------------
# The bytes of a bom.json as data, whose numbers are finite.

DERIVATIONS = "derivations"
SECTIONS = ("cluster", "workload", "fabrics", "storage", "site", "operation")
"""Sections of bom.json with numbers."""
LARGEST = 1e300
"""Largest plausible number, near the limit of a float."""


def parse_bom(content: bytes) -> Any:
    """Return the data of JSON bytes. Raises ValueError or RecursionError."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite)


def units_of(derivations: Any) -> dict[str, str]:
    """Return the units of numbers by path, from the derivations of a bom.json; entries without a unit are omitted."""
    if not isinstance(derivations, dict):
        return {}
    units = ((path, each.get("unit")) for path, each in derivations.items() if isinstance(each, dict))
    return {path: unit for path, unit in units if isinstance(unit, str)}


def _refuse_constant(word: str) -> None:
    raise ValueError(f"{word} is not a JSON number")


def _finite(text: str) -> float:
    found = float(text)
    if abs(found) > LARGEST:
        _refuse_constant(text)
    return found


# side ---------------------------------------------------------------------------------------------------------------

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
    numbers: Mapping[str, Any]
    """Numbers and words of the design by bom.json path."""
    units: Mapping[str, str]
    """Units of numbers with a known derivation."""
    fabrics: Mapping[str, str]
    """The role of each fabric by name, with the cluster and a dot as prefix if there are several."""
    warnings: tuple[Warned, ...]
    alternatives: Mapping[str, BillTotals]
    rates_known: bool
    """Whether the lines have the exchange rates of their prices."""
    source: Source | None = None
    """The keys of a plan."""
    clusters: tuple[str, ...] = ()
    """Names of the clusters, if there are several."""
    shares: Mapping[str, Fraction] = MappingProxyType({})
    """For a plan, the hardware share of each charge by line id, which a bom.json does not have."""

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
        data = parse_bom(content)
    except (ValueError, RecursionError) as error:
        if not name.lower().endswith(".json"):
            return None
        line, column = getattr(error, "lineno", 1), getattr(error, "colno", 1)
        said = getattr(error, "msg", "") or "it cannot be read"
        message = f"not valid JSON: {said}; use a bom.json written by `bomgen build`"
        raise PlanErrors([Problem(Mark(name, line, column), "error", message, RULE)]) from None
    return data if isinstance(data, dict) and "bomgen" in data and "lines" in data else None


Seen = dict[str, tuple[Mapping[str, Any], Item]]
"""Lines read before, by id: the data, and the resulting item."""


def compared_result_of(
    data: Mapping[str, Any], name: str, source: Source | None = None, seen: Seen | None = None
) -> ComparedResult:
    """Return a side from the data of a bom.json; `source` is the plan it was just calculated from.

    `seen` has the lines of the other side and collects those of this one: most are equal, and are read once.

    Raises PlanErrors if the data is not what `bomgen build` writes, or of an unknown format.
    """
    try:
        return _ResultReader(name, {} if seen is None else seen).side(data, source)
    except _Wrong as error:
        message = f"{error}; use a bom.json written by `bomgen build`, or the plan"
        raise PlanErrors([Problem(Mark(name, 1, 1), "error", message, RULE)]) from None


class _Wrong(Exception):
    """The data is not valid for a bom.json."""


class _ResultReader:
    """Reader for the data of one bom.json."""

    def __init__(self, name: str, seen: Seen) -> None:
        self.name, self.seen = name, seen
        self.amounts: dict[str, Decimal] = {}
        """Amounts by text, cached because a bill repeats prices."""

    def side(self, data: Mapping[str, Any], source: Source | None) -> ComparedResult:
        version = data.get("bomgen")
        if version != FORMAT or isinstance(version, bool):
            raise self.unknown(data)
        plan = self.mapping(data, "plan")
        lines = data.get("lines")
        if not isinstance(lines, list):
            raise _Wrong("`lines` is not a list")
        items = tuple(self.item(line, at) for at, line in enumerate(lines))
        if len({item.id for item in items}) < len(items):
            raise _Wrong("two lines have the same id")
        return ComparedResult(
            name=self.name,
            kind=BILL if source is None else PLAN,
            plan=self.text(plan, "plan.name", "name"),
            version=str(data.get("version", "")),
            items=items,
            totals=self.money(self.mapping(data, "totals"), "totals"),
            numbers=dict(self.numbers(data)),
            units=units_of(data.get(DERIVATIONS)),
            fabrics=self.roles(data),
            warnings=tuple(self.warnings(data)),
            alternatives=dict(self.alternatives(data)),
            rates_known=all("exchange_rate" in line for line in lines),
            source=source,
            clusters=tuple(self.clusters(data)),
        )

    def unknown(self, data: Mapping[str, Any]) -> PlanErrors | _Wrong:
        """Return an error for an unknown format; the modules for it are imported on demand."""
        from bomgen.core import schema
        from bomgen.core.yaml_source import Source

        whole = Source(self.name, "", data, {}, {(): Mark(self.name, 1, 1)})
        if newer := schema.newer(whole, "bomgen", "a bom.json", FORMAT, RULE):
            return PlanErrors([newer])
        return _Wrong(f"`bomgen` is {json.dumps(data.get('bomgen'))[: schema.MAX_QUOTED]}, not {FORMAT}")

    def clusters(self, data: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
        found = data.get(CLUSTERS) or {}
        if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
            raise _Wrong("`clusters` is not a mapping of mappings")
        return found

    def mapping(self, data: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        found = data.get(key)
        if not isinstance(found, dict):
            raise _Wrong(f"`{key}` is not a mapping")
        return found

    def text(self, data: Mapping[str, Any], path: str, key: str) -> str:
        found = data.get(key)
        if not isinstance(found, str):
            raise _Wrong(f"`{path}` is not text")
        return found

    def item(self, line: Any, at: int) -> Item:
        if not isinstance(line, dict):
            raise _Wrong(f"`lines.{at}` is not a mapping")
        get = line.get
        id, category, description = get("id"), get("category"), get("description")
        known = self.seen.get(id) if isinstance(id, str) else None
        if known and known[0] == line:
            return known[1]
        if not (isinstance(id, str) and isinstance(category, str) and isinstance(description, str)):
            raise _Wrong(f"`lines.{at}` lacks an id, a category or a description")
        fabric, role, part, sku, vendor = get("fabric"), get("role"), get("part"), get("sku"), get("vendor")
        if not {type(fabric), type(role), type(part), type(sku), type(vendor)} <= WORDS_OR_NOTHING:
            raise _Wrong(f"`lines.{at}` has a fabric, role, part, sku or vendor that is no text")
        quantity, spare = get("quantity"), get("spare", 0)
        if type(quantity) is not int or type(spare) is not int or quantity < 0 or spare < 0:
            raise _Wrong(f"`lines.{at}` has a quantity or spares that are no whole number")
        currency, cluster = get("original_currency"), get("cluster") or ""
        if not isinstance(cluster, str):
            raise _Wrong(f"`lines.{at}` has a cluster that is no text")
        found = Item(
            id,
            category,
            f"{cluster}.{fabric}" if cluster and fabric else fabric,
            role,
            part,
            sku,
            vendor,
            description,
            quantity,
            spare,
            self.amount(get("unit_price"), at),
            self.amount(get("discount"), at) or Decimal(0),
            self.amount(get("amount"), at),
            bool(get("in_stock")),
            self.amount(get("original_price"), at),
            currency if isinstance(currency, str) else None,
            self.amount(get("exchange_rate"), at),
            cluster,
            get("required_by") is not None,
        )
        self.seen[id] = line, found
        return found

    def amount(self, value: Any, at: int | str) -> Decimal | None:
        if value is None:
            return None
        if isinstance(value, str) and value in self.amounts:
            return self.amounts[value]
        if not isinstance(value, str) or not _MONEY.fullmatch(value):
            where = f"lines.{at}" if isinstance(at, int) else at
            raise _Wrong(f"`{where}` has an amount that is no decimal number in quotes")
        return self.amounts.setdefault(value, Decimal(value, ANY_AMOUNT))

    def money(self, data: Mapping[str, Any], path: str) -> BillTotals:
        currency, complete = data.get("currency"), data.get("complete")
        if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency) or not isinstance(complete, bool):
            raise _Wrong(f"`{path}` lacks a currency, or whether it is complete")
        tax, amount = self.amount(data.get("tax"), f"{path}.tax"), self.amount(data.get("amount"), f"{path}.amount")
        if amount is None:
            raise _Wrong(f"`{path}.amount` is missing")
        return BillTotals(currency, tax or Decimal(0), amount, complete)

    def numbers(self, data: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for section in SECTIONS:
            yield from self.below(data.get(section), section, 0)
        for name, inner in self.clusters(data).items():
            for section in SECTIONS:
                yield from self.below(inner.get(section), f"{CLUSTERS}.{name}.{section}", 0)

    def below(self, value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
        if depth > MAX_DEPTH:
            raise _Wrong(f"`{path[:MAX_DEPTH]}...` is nested too deep")
        if isinstance(value, dict):
            for key, inner in value.items():
                if key not in NOT_COMPARED:
                    yield from self.below(inner, f"{path}.{key}", depth + 1)
        elif isinstance(value, list):
            if all(isinstance(each, str) for each in value):
                yield path, ", ".join(value)
        elif isinstance(value, int | float) and abs(value) > LARGEST:
            raise _Wrong(f"`{path}` is too large")
        elif value is not None:
            yield path, value

    def roles(self, data: Mapping[str, Any]) -> dict[str, str]:
        clusters = self.clusters(data)
        of_clusters = ((cluster, self.roles_in(inner)) for cluster, inner in clusters.items())
        if clusters:
            return {f"{cluster}.{name}": role for cluster, roles in of_clusters for name, role in roles.items()}
        return self.roles_in(data)

    def roles_in(self, data: Mapping[str, Any]) -> dict[str, str]:
        fabrics = data.get("fabrics")
        if not isinstance(fabrics, dict) or not all(isinstance(fabric, dict) for fabric in fabrics.values()):
            raise _Wrong("`fabrics` is not a mapping of mappings")
        return {name: str(fabric.get("role", "")) for name, fabric in fabrics.items()}

    def warnings(self, data: Mapping[str, Any]) -> Iterator[Warned]:
        checks = data.get("checks") or []
        if not isinstance(checks, list) or not all(isinstance(check, dict) for check in checks):
            raise _Wrong("`checks` is not a list of mappings")
        for check in checks:
            if check.get("status") == "warn":
                texts = (check.get(key, "") for key in ("id", "path", "message"))
                yield Warned(*(text if isinstance(text, str) else str(text) for text in texts))

    def alternatives(self, data: Mapping[str, Any]) -> Iterator[tuple[str, BillTotals]]:
        found = data.get("alternatives") or []
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise _Wrong("`alternatives` is not a list of mappings")
        for at, each in enumerate(found):
            path = f"alternatives.{at}"
            yield self.text(each, f"{path}.name", "name"), self.money(self.mapping(each, "totals"), f"{path}.totals")
