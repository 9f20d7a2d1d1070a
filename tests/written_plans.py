"""Plans given as plain data."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bomgen.workflow.plan_files import PlanFile


def plan_file(plan: Mapping[str, Any], folder: Path) -> PlanFile:
    """A plan given as plain data (JSON is YAML) as the file a user would have written."""
    content = json.dumps(plan, indent=1).encode()
    return PlanFile("plan.yaml", content, folder, folder)
