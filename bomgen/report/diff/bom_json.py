"""The bytes of a bom.json as data, without its derivations: most of a long one, and only their units are asked for.

They are cut out of a file that has the layout of `bomgen build`. The cut hides nothing: the rest must be whole without
it, and the cut may hold no key that a comparison reads and the rest lacks. Else the whole file is read. Which of two
equal keys holds is open in RFC 8259, section 4, so that one which the rest has cannot be hidden.
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
_FIRST, _LAST, _LAST_OF_SEVERAL = b'\n "derivations": {\n', b"\n }", b'\n },\n "'
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
    if start >= 0:
        end = content.rfind(_LAST_OF_SEVERAL, start)
        end = end if end >= 0 else content.rfind(_LAST, start)
        try:
            data = _loaded(content[:start] + _INSTEAD + content[end + len(_LAST) :])
        except (ValueError, RecursionError):
            return _loaded(content)
        if isinstance(data, dict) and data.get(DERIVATIONS) == _HERE and not _hides(content, start + 1, end, data):
            return data | {DERIVATIONS: content[start + len(_FIRST) - 1 : end]}
    return _loaded(content)


def _hides(content: bytes, start: int, end: int, data: Mapping[str, Any]) -> bool:
    """Whether a key may stand between two places that a comparison reads and the data lacks."""
    lacking = (key for key in (*READ, *SECTIONS) if key not in data)
    if any(content.find(f'"{key}"'.encode(), start, end) >= 0 for key in lacking):
        return True
    return content.find(b"\\u00", start, end) >= 0 and bool(_SPELLED.search(content, start, end))


def _loaded(content: bytes) -> Any:
    return json.loads(content.decode("utf-8-sig"), parse_constant=_no_number, parse_float=_finite)


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


def _finite(text: str) -> float:
    found = float(text)
    if abs(found) > LARGEST:
        _no_number(text)
    return found
