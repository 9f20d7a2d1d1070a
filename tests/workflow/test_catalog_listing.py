"""The catalogue as text."""

from __future__ import annotations

import pytest

from bomgen.catalog.files import KINDS, Catalog
from bomgen.workflow.catalog_listing import part


@pytest.mark.parametrize("kind", KINDS)
def test_every_part_is_listed_in_full(kind: str) -> None:
    """`bomgen catalog KIND ID` has lines for every record, and its id on the first."""
    shelves = Catalog()
    for record in shelves.ids(kind):
        lines = list(part(shelves, kind, record))
        assert record in lines[0]
        assert len(lines) > 1
