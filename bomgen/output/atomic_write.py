"""Atomic writes: all files of a set or none, whatever fails or ends the program in between.

New files are written into a hidden folder next to their destination and synced to disk; the old ones get a second name
there. Only then are the new ones renamed, one by one; if that fails, the old ones are renamed back. Signals are
deferred meanwhile, and other runs wait for the folder. docs/limits.md lists what this does not protect against.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp

from bomgen.core.jobs import LettingThrough, defer_signals

try:
    import fcntl
except ImportError:  # Windows: runs do not wait for each other
    fcntl = None  # type: ignore[assignment]

UNFINISHED = ".bomgen-unfinished-"
"""Prefix of the names of temporary folders."""
PATIENCE = 30
"""Seconds to wait while another run exchanges its files: a thousand times what it needs."""
PAUSE = 0.02
"""Seconds between two attempts to lock."""
_LEFT = re.compile(re.escape(UNFINISHED) + r"[a-z0-9_]{8}")
_NEW, _OLD = "new", "old"
_NO_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES, errno.EPERM)
"""Errors of file systems that cannot sync a file or folder on demand."""


def place(folder: Path, make: Callable[[Path], object], exclusive: bool = False) -> list[Path]:
    """Move the files that `make` writes into an empty folder to `folder`, which is created if it is missing.

    With `exclusive` existing files are not replaced: FileExistsError is raised. Raises OSError with the path that
    failed; everything is then as before.
    """
    with defer_signals() as let_through:
        missing = _missing(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            return _placed(folder, make, exclusive, let_through)
        except BaseException:
            for made in missing:
                with suppress(OSError):
                    made.rmdir()
            raise


def _missing(folder: Path) -> list[Path]:
    """Return the missing folders of a path, innermost first."""
    found = []
    while not os.path.lexists(folder) and folder.parent != folder:
        found.append(folder)
        folder = folder.parent
    return found


def _placed(folder: Path, make: Callable[[Path], object], exclusive: bool, let_through: LettingThrough) -> list[Path]:
    try:
        with _opened(folder) as place, _waiting_room(folder, place, let_through) as waiting:
            with let_through():
                make(waiting / _NEW)
                names = sorted(path.name for path in (waiting / _NEW).iterdir())
                for name in names:
                    _bring_to_disk(waiting / _NEW / name)
            with _locked(place, let_through):
                _check(folder, names)
                _exchange(folder, waiting, names, exclusive)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), _meant(error, folder)) from error
    return [folder / name for name in names]


def _meant(error: OSError, folder: Path) -> str:
    """Return the path that an error is about; a path in the temporary folder becomes its destination."""
    if not isinstance(error.filename, str):
        return str(folder)
    before, unfinished, behind = error.filename.partition(UNFINISHED)
    if not unfinished:
        return error.filename
    _, _, name = behind.partition(f"{os.sep}{_NEW}{os.sep}")
    return str(Path(before, name))


def _check(folder: Path, names: Sequence[str]) -> None:
    """Raise OSError for a name that a file must not replace, such as a folder or a device; links are replaced."""
    for name in names:
        place = folder / name
        if place.is_dir():
            raise IsADirectoryError(errno.EISDIR, "there is a folder of that name", str(place))
        if os.path.lexists(place) and not place.is_symlink() and not place.is_file():
            raise OSError(errno.EEXIST, "there is a pipe or device of that name", str(place))


# exchange -----------------------------------------------------------------------------------------------------------


def _exchange(folder: Path, waiting: Path, names: Sequence[str], exclusive: bool) -> None:
    """Move the new files to their destinations, or restore the old ones."""
    new, old = waiting / _NEW, waiting / _OLD
    begun = list[str]()
    try:
        if not exclusive:
            for name in names:
                with suppress(OSError):  # missing, or a file system without hard links
                    os.link(folder / name, old / name, follow_symlinks=False)
        for name in names:
            if exclusive:
                _link(new / name, folder / name)
            elif os.path.lexists(folder / name) and not os.path.lexists(old / name):
                os.rename(folder / name, old / name)
            begun.append(name)
            if not exclusive:
                os.replace(new / name, folder / name)
        _bring_to_disk(folder)
    except BaseException as error:
        mixed = [name for name in reversed(begun) if not _put_back(folder, old, name)]
        if mixed and isinstance(error, OSError):
            said = f"{error.strerror}; could not be put back as it was: {', '.join(mixed)}"
            raise OSError(error.errno, said, error.filename) from error
        raise


def _link(new: Path, place: Path) -> None:
    try:
        os.link(new, place)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        with place.open("xb") as stream:
            try:
                stream.write(new.read_bytes())
                stream.flush()
            except BaseException:
                place.unlink()
                raise


def _put_back(folder: Path, old: Path, name: str) -> bool:
    """Restore the old file, or remove a new one, and return whether that was possible."""
    try:
        if os.path.lexists(old / name):
            os.replace(old / name, folder / name)
        else:
            (folder / name).unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _bring_to_disk(path: Path) -> None:
    if path.is_dir() and fcntl is None:
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        os.close(number)


# other runs ---------------------------------------------------------------------------------------------------------


@contextmanager
def _opened(folder: Path) -> Iterator[int | None]:
    """Open a folder for locking; None if the system cannot lock folders."""
    number = os.open(folder, os.O_RDONLY) if fcntl else None
    try:
        yield number
    finally:
        if number is not None:
            os.close(number)


@contextmanager
def _waiting_room(folder: Path, place: int | None, let_through: LettingThrough) -> Iterator[Path]:
    """Provide a temporary folder inside another, locked against other runs and removed afterwards."""
    with ExitStack() as ending:
        with _locked(place, let_through) as alone:
            if alone:
                _clear(folder)
            waiting = Path(mkdtemp(prefix=UNFINISHED, dir=folder))
            ending.callback(shutil.rmtree, waiting, ignore_errors=True)
            _try_lock(ending.enter_context(_opened(waiting)))
            (waiting / _NEW).mkdir()
            (waiting / _OLD).mkdir()
        yield waiting


def _clear(folder: Path) -> None:
    """Remove the temporary folders of runs that were killed: those without a lock."""
    for left in folder.iterdir():
        if _LEFT.fullmatch(left.name) and left.is_dir() and not left.is_symlink():
            with suppress(OSError), _opened(left) as number:
                if _try_lock(number):
                    shutil.rmtree(left, ignore_errors=True)


@contextmanager
def _locked(number: int | None, let_through: LettingThrough) -> Iterator[bool]:
    """Lock a folder; yield whether the file system supports locks. Raises OSError if another run holds it too long."""
    end = time.monotonic() + PATIENCE
    while (got := _try_lock(number)) is False:
        with let_through():
            time.sleep(PAUSE)
        if time.monotonic() > end:
            raise OSError(errno.EAGAIN, "another run of bomgen is writing there, and does not end")
    try:
        yield bool(got)
    finally:
        if got and number is not None:
            fcntl.flock(number, fcntl.LOCK_UN)


def _try_lock(number: int | None) -> bool | None:
    """Return whether a lock was acquired; None if locks are not supported."""
    if number is None:
        return None
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True
