"""The bytes of a bom.json as data, without its derivations: most of a long one, and only their units are asked for.

They are cut out of a file that is laid out as `bomgen build` lays it out. The cut hides nothing: the rest must be whole
without it, and it may hold no key that a comparison reads. Else the whole file is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

DERIVATIONS = "derivations"
READ = ("bomgen", "version", "plan", "lines", "totals", "checks", "alternatives", "clusters")
"""Keys that a comparison reads, beside the sections with numbers."""
SECTIONS = ("cluster", "workload", "fabrics", "storage", "site", "operation")
"""Where numbers stand in bom.json."""
LARGEST = 1e300
"""Numbers beyond it nobody means; they are near the end of what a float holds."""
_FIRST, _LAST = b'\n "derivations": {\n', b"\n }"
_HERE = "derivations stood here"
_INSTEAD = f'\n "{DERIVATIONS}": "{_HERE}"'.encode()
_SPELLED = re.compile(rb"\\u00[2-7]")
"""A letter or digit that is written by its number, which would hide a key."""
_UNIT = re.compile(rb'\n   "unit": ("(?:[^"\\\n]|\\[^\n])*")')


class Units:
    """The units of numbers, by their path: of derivations that were read, or in the bytes of those that were not."""

    def __init__(self, derivations: Any) -> None:
        self.read: Mapping[str, Any] = derivations if isinstance(derivations, dict) else {}
        self.text = derivations if isinstance(derivations, bytes) else b""

    def get(self, path: str) -> str | None:
        """The unit of a number; None where no derivation says one."""
        if not self.text:
            derivation = self.read.get(path)
            unit = derivation.get("unit") if isinstance(derivation, dict) else None
            return unit if isinstance(unit, str) else None
        start = self.text.find(f"\n  {json.dumps(path, ensure_ascii=False)}: {{\n".encode("utf-8", "replace"))
        found = _UNIT.search(self.text, start, max(self.text.find(b"\n  }", start), 0)) if start >= 0 else None
        return str(json.loads(found[1])) if found else None


def data_of(content: bytes) -> Any:
    """The data of JSON; derivations that were cut out are there as bytes. Raises ValueError or RecursionError."""
    start = content.find(_FIRST)
    end = content.find(_LAST, start)
    if 0 <= start < end:
        cut = content[start + len(_FIRST) - 1 : end]
        hidden = any(f'"{key}"'.encode() in cut for key in (*READ, *SECTIONS, DERIVATIONS))
        if not hidden and not (b"\\u00" in cut and _SPELLED.search(cut)):
            try:
                data = _loaded(
                    content[:start] + f'\n "{DERIVATIONS}": "{_HERE}"'.encode() + content[end + len(_LAST) :]
                )
            except (ValueError, RecursionError):
                return _loaded(content)
            if isinstance(data, dict) and data.get(DERIVATIONS) == _HERE:
                return data | {DERIVATIONS: cut}
    return _loaded(content)


def _loaded(content: bytes) -> Any:
    return json.loads(content.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    found = float(text)
    if abs(found) > LARGEST:
        _no_number(text)
    return found
