"""Tables of `bomgen wiring -f netbox`, as a test reads them."""

from __future__ import annotations

import csv
from pathlib import Path


def rows_of(path: Path) -> list[dict[str, str]]:
    """The rows of a table, with those of the files that go on with it; none has more than NetBox takes at once."""
    parts = [path, *(path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, 1000))]
    found = []
    for part in (each for each in parts if each.exists()):
        with part.open(encoding="utf-8", newline="") as stream:
            found.append(list(csv.DictReader(stream)))
    assert len(found) == 1 or max(map(len, found)) == 1000
    return [row for part in found for row in part]
