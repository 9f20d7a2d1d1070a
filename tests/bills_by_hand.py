"""Small bills, written by hand as bom.json has them, for tests that compare them."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from bomgen.documents.diff.side import ComparedResult, compared_result_of

CENT = Decimal("0.01")


def line(id: str, quantity: int, unit: str | None = None, **values: Any) -> dict[str, Any]:
    """A line of a bill in USD; what it comes to is worked out unless it is given."""
    found: dict[str, Any] = {
        "id": id,
        "category": "switch",
        "fabric": None,
        "role": None,
        "part": id.rpartition(".")[2],
        "sku": "SKU",
        "vendor": "Example",
        "description": f"part {id}",
        "quantity": quantity,
        "spare": 0,
        "unit_price": unit,
        "discount": "0",
        "currency": "USD",
        "explain": "by hand",
        "in_stock": False,
        "original_price": unit,
        "original_currency": "USD" if unit else None,
        "exchange_rate": "1" if unit else None,
        **values,
    }
    if "amount" not in found:
        found["amount"] = None
        if found["unit_price"] is not None:
            whole = (found["quantity"] + found["spare"]) * Decimal(found["unit_price"])
            found["amount"] = str((whole * (1 - Decimal(found["discount"]))).quantize(CENT, ROUND_HALF_UP))
    return found


def bom(*lines: dict[str, Any], currency: str = "USD", tax: str = "0", **sections: Any) -> dict[str, Any]:
    """A bom.json of some lines; its totals are their sums."""
    amounts = [Decimal(each["amount"]) for each in lines if each["amount"] is not None]
    net = sum(amounts, Decimal("0.00"))
    totals = {
        "list": str(net),
        "discount": "0.00",
        "tax": tax,
        "amount": str(net + Decimal(tax)),
        "currency": currency,
        "complete": len(amounts) == len(lines),
        "low": None,
        "high": None,
    }
    return {
        "bomgen": 1,
        "version": "0",
        "plan": {"name": "by-hand", "sha256": "0" * 64, "inputs": []},
        "cluster": {"gpu": "h100-sxm", "server": "dgx-h100", "gpus": 8, "servers": 1},
        "fabrics": {},
        "lines": list(lines),
        "totals": totals,
        "checks": [],
        **sections,
    }


def side(*lines: dict[str, Any], name: str = "bom.json", **values: Any) -> ComparedResult:
    """A side of a comparison."""
    return compared_result_of(bom(*lines, **values), name)
