"""Has the build backend write the files that follow from the catalogue before it packs them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class GeneratedFiles(BuildHookInterface[Any]):
    """Writes what `tools/generate.py` writes."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002, the backend's interface
        """Write the files."""
        sys.path.insert(0, str(Path(self.root) / "tools"))
        import generate

        generate.write()
