"""Plans given as plain data, and the prices in a file of any form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bomgen.core.yaml_source import Source
from bomgen.reading.price_lists import own_book, read_list
from bomgen.workflow.plan_files import PlanFile


def plan_file(plan: Mapping[str, Any], folder: Path) -> PlanFile:
    """A plan given as plain data (JSON is YAML) as the file a user would have written."""
    content = json.dumps(plan, indent=1).encode()
    return PlanFile("plan.yaml", content, folder, folder)


def open_book(content: bytes, file: str) -> Source:
    """The prices in a file as checked data of a price book, with their places."""
    return own_book(content, file) or read_list(content, file).source
