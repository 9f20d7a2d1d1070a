"""Which files are never read, whatever names them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

GIT = ".git"
"""The folder that git keeps to itself: its configuration may hold credentials."""


def refuse_git_files(place: Path) -> None:
    """Raise OSError for a path that leads into a folder of git, over links too."""
    if GIT in Path(os.path.realpath(place)).parts:
        raise OSError(errno.EACCES, f"of {GIT} nothing is read", str(place))
