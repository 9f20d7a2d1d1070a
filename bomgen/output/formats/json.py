"""bom.json: the result for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "The whole result for programs; bomgen schema bom describes it."
FILE = "bom.json"
BINARY = False


def write(source: DocumentInputs) -> bytes:
    """Return the result as JSON, UTF-8, in a fixed order."""
    from bomgen.results.result import result

    return (json.dumps(result(source.report), ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()
