"""Which files are never read, whatever names them."""

from __future__ import annotations

import errno
import os
from pathlib import Path

GIT = ".git"
"""The folder that git keeps to itself: its configuration may hold credentials."""


MAX_FILE = 5 * 10**6
"""Bytes of a file that is read, a workbook at most; of a larger one nothing is."""


def read_sent(place: Path) -> bytes:
    """Return the bytes of a file that somebody sent. Raises OSError for one of git's own, and for one too large."""
    refuse_git_files(place)
    with place.open("rb") as stream:
        content = stream.read(MAX_FILE + 1)
    if len(content) > MAX_FILE:
        raise OSError(errno.EFBIG, f"Larger than {MAX_FILE} bytes", str(place))
    return content


def refuse_git_files(place: Path) -> None:
    """Raise OSError for a path that leads into a folder of git, over links too."""
    if GIT in Path(os.path.realpath(place)).parts:
        raise OSError(errno.EACCES, f"of {GIT} nothing is read", str(place))
