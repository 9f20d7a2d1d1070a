"""One side of a comparison: the bytes of a bom.json as data, checked as far as a comparison uses it.

A plan and a bom.json are treated alike, because a plan is worked out to the same data first. Only what is compared is
checked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.money import ANY_AMOUNT
from bomgen.core.provenance import Mark
from bomgen.plan.clusters import KEY as CLUSTERS

if TYPE_CHECKING:
    from bomgen.core.yaml_source import Source

# bom json -----------------------------------------------------------------------------------------------------------
# The bytes of a bom.json as data, whose numbers are finite.

DERIVATIONS = "derivations"
SECTIONS = ("cluster", "workload", "fabrics", "storage", "site", "operation")
"""Where numbers stand in bom.json."""
LARGEST = 1e300
"""Numbers beyond it nobody means; they are near the end of what a float holds."""


def parse_bom(content: bytes) -> Any:
    """The data of JSON. Raises ValueError or RecursionError."""
    return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant, parse_float=_finite)


def units_of(derivations: Any) -> dict[str, str]:
    """The units of numbers by their path, of the derivations of a bom.json; what says no unit is left out."""
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
"""The version of bom.json that is read."""
RULE = "bom"
PLAN, BILL = "plan", "bom"
WORDS_OR_NOTHING = {str, type(None)}
NOT_COMPARED = ("exact_bisection", "others", "cost_per_link", "elevations", "rows", "unplaced", "published_runs")
"""Keys below which nothing is a number of the design, or which say the same as another one."""
MAX_DEPTH = 30
"""Levels of the data that are looked at; bom.json has six."""
_MONEY = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,40})?")
_CURRENCY = re.compile(r"[A-Z]{3}")


class Item(NamedTuple):
    """A line of a bill."""

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
    """Of several; the name of the fabric has it in front."""
    required: bool = False
    """Whether another part needs it; then the total is complete without its price."""

    @property
    def lacks_price(self) -> bool:
        """Whether the total is a lower bound because nobody has a price for it."""
        return self.amount is None and not self.required

    @property
    def pieces(self) -> int:
        """Installed and spare ones."""
        return self.quantity + self.spare


class BillTotals(NamedTuple):
    """What a bill comes to."""

    currency: str
    tax: Decimal
    amount: Decimal
    complete: bool
    tax_share: Fraction | None = None
    """Of a plan; a bom.json says what the tax comes to alone."""

    @property
    def is_unknown(self) -> bool:
        """Whether nothing of it has a price."""
        return not self.complete and not self.amount

    @property
    def share_of_tax(self) -> Fraction:
        """The share of the net amount that tax is, as near as it is known."""
        net = Fraction(self.amount) - Fraction(self.tax)
        return self.tax_share if self.tax_share is not None else Fraction(self.tax) / net if net else Fraction(0)


class Warned(NamedTuple):
    """A check that warns."""

    id: str
    path: str
    message: str


Ends = tuple[int | Fraction, int | Fraction]
"""The least and the most that an estimate may be."""


class ComparedResult(NamedTuple):
    """One side of a comparison."""

    name: str
    """What the user called it."""
    kind: str
    """`plan` or `bom`."""
    plan: str
    """The name of the plan."""
    version: str
    """Of the program that made it."""
    items: tuple[Item, ...]
    totals: BillTotals
    numbers: Mapping[str, Any]
    """Numbers and words of the design by their path in bom.json."""
    units: Mapping[str, str]
    """Of those that a derivation is known of."""
    fabrics: Mapping[str, str]
    """The role of each fabric by its name, of several clusters with the name of its cluster and a dot in front."""
    warnings: tuple[Warned, ...]
    alternatives: Mapping[str, BillTotals]
    rates_known: bool
    """Whether the lines say which exchange rate they were priced with."""
    source: Source | None = None
    """Of a plan its keys."""
    clusters: tuple[str, ...] = ()
    """The names of several."""
    shares: Mapping[str, Fraction] = MappingProxyType({})
    """Of a plan what share of the hardware a charge is, by the id of its line; a bom.json does not say it."""

    def ends(self, path: str) -> Ends | None:
        """Return the range of an estimate by the path of its number; None for one that is no estimate."""
        low, high = (self.numbers.get(f"{path}_range.{end}") for end in ("low", "high"))
        return None if low is None or high is None else (low, high)


def bill_in(content: bytes, name: str) -> dict[str, Any] | None:
    """The data of a bom.json; None for anything else, such as a plan.

    Raises PlanErrors for a file called *.json that is no JSON.
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
        message = f"not valid JSON: {said}; give a bom.json as `bomgen build` writes it"
        raise PlanErrors([Problem(Mark(name, line, column), "error", message, RULE)]) from None
    return data if isinstance(data, dict) and "bomgen" in data and "lines" in data else None


Seen = dict[str, tuple[Mapping[str, Any], Item]]
"""Lines as they were read, by id: the data, and what it was read as."""


def compared_result_of(
    data: Mapping[str, Any], name: str, source: Source | None = None, seen: Seen | None = None
) -> ComparedResult:
    """A side from the data of a bom.json; `source` is that of the plan that it was worked out from just now.

    `seen` has the lines of the other side and takes in those of this one: most are the same, and read once.

    Raises PlanErrors when the data is not what `bomgen build` writes, or of a format that is not known.
    """
    try:
        return _ResultReader(name, {} if seen is None else seen).side(data, source)
    except _Wrong as error:
        message = f"{error}; give a bom.json as `bomgen build` writes it, or the plan"
        raise PlanErrors([Problem(Mark(name, 1, 1), "error", message, RULE)]) from None


class _Wrong(Exception):
    """The data is not what it should be."""


class _ResultReader:
    """Reads the data of one bom.json."""

    def __init__(self, name: str, seen: Seen) -> None:
        self.name, self.seen = name, seen
        self.amounts: dict[str, Decimal] = {}
        """By their text: a bill has the same prices over and over."""

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
        """What is said of a format that is not known; what that takes is loaded only here."""
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
