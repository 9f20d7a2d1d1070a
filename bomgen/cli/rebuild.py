"""`bomgen build --watch`: a build again whenever a file that plans can name has changed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from bomgen.cli.messages import complain

READ = (".yaml", ".yml", ".lock", ".csv", ".xlsx", ".j2", ".svg", ".png", ".jpg", ".jpeg")
"""The ends of the names of files that a plan reads: plans and their locks, parts, price books, templates, logos."""
INTERVAL_S = 0.3
"""Between two looks at the files: shorter than a person's switch from the editor to the page."""

State = dict[str, tuple[int, int]]
"""The time of the last change [ns] and the size [bytes] of each file by its path."""


def rebuild(run: Callable[[], int], folders: Iterable[Path], written: Path) -> None:
    """Run a build, and run it again after each change below `folders`, for as long as nothing ends the program.

    What lies below `written`, the folder of the results, and hidden folders are not looked at.
    """
    below = sorted({folder.resolve() for folder in folders})
    while True:
        before = _state(below, written.resolve())
        run()
        complain(f"bomgen: watching {len(before)} files; Ctrl-C ends")
        while _state(below, written.resolve()) == before:
            time.sleep(INTERVAL_S)


def _state(folders: Iterable[Path], written: Path) -> State:
    """What the files that plans can name look like now."""
    return {entry.path: (seen.st_mtime_ns, seen.st_size) for entry, seen in _files(folders, str(written))}


def _files(folders: Iterable[Path], written: str) -> Iterator[tuple[os.DirEntry[str], os.stat_result]]:
    waiting = [str(folder) for folder in folders]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.name.startswith(".") or entry.path == written:
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.name.lower().endswith(READ):
                        yield entry, entry.stat()
        except OSError:  # removed meanwhile: the next look is without it
            continue
