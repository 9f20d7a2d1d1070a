"""Writes the files that follow from the catalogue, which are not committed: `python tools/generate.py`.

`make build` and each build of a wheel do so; a part that is added changes no file but its own.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

CHECKOUT = Path(__file__).parents[1]
SCHEMA = CHECKOUT / "schemas" / "plan.catalog.schema.json"


def write() -> None:
    """Write the price book `indicative`, and the schema of plans with the ids of the catalogue."""
    sys.path[:0] = [str(CHECKOUT), str(CHECKOUT / "tools")]
    from indicative_prices import BOOK, book

    from bomgen.catalog.files import Catalog
    from bomgen.workflow.catalog_listing import plan_schema

    BOOK.write_text(book(), "utf-8")
    SCHEMA.write_text(json.dumps(plan_schema(Catalog()), indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    write()
