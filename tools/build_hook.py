"""Has the build backend write what follows from the catalogue, and the commit, before it packs them."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

LINK = re.compile(r"(!?)(\[[^]]*\])\((?!https?:|#)([^)]+)\)")


class Addresses(MetadataHookInterface):
    """Makes the README the description, with links into the repository, and gives the addresses of the repository."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set `readme` and `urls`."""
        text, metadata["urls"] = (Path(self.root) / "README.md").read_text(encoding="utf-8"), {}
        if address := self.config["repository"]:
            text = LINK.sub(
                lambda link: f"{link[1]}{link[2]}({address}/{'raw' if link[1] else 'blob'}/main/{link[3]})", text
            )
            pages = {"Documentation": "docs", "Changelog": "CHANGELOG.md"}
            urls = {name: f"{address}/blob/main/{path}" for name, path in pages.items()}
            metadata["urls"] = {"Repository": address, **urls}
        metadata["readme"] = {"content-type": "text/markdown", "text": text}


class GeneratedFiles(BuildHookInterface[Any]):
    """Writes what `tools/generate.py` writes, and the commit of a checkout, which an sdist has as a file."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002, the backend's interface
        """Write the files."""
        root = Path(self.root)
        if (root / ".git").exists():
            command = ["git", "rev-parse", "--short=12", "HEAD"]
            commit = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False).stdout
            self._commit.write_text(commit, encoding="utf-8")
        sys.path.insert(0, str(root / "tools"))
        import generate

        generate.write()

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002, as above
        """Remove the commit from a checkout, whose next commit is another."""
        if (Path(self.root) / ".git").exists():
            self._commit.unlink(missing_ok=True)

    @property
    def _commit(self) -> Path:
        return Path(self.root) / "bomgen" / "data" / "commit.txt"
