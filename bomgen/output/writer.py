"""Written files of a report: every format of a quote and of a wiring, all of them or none, whatever fails in between.

New files are written into a hidden folder next to their destination and synced to disk; the old ones get a second name
there. Only then are the new ones renamed, one by one; if that fails, the old ones are renamed back. Signals are
deferred meanwhile, and other runs wait for the folder. docs/limits.md lists what this does not protect against.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryFile, mkdtemp
from typing import IO, TYPE_CHECKING, Any

from bomgen.core.diagnostics import OutputError
from bomgen.core.jobs import LettingThrough, defer_signals, report_stage
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH
from bomgen.output import user_templates as templates
from bomgen.output.registry import DOCUMENTS, WIRINGS, DocumentInputs, choose_documents, render_page
from bomgen.results.result import Report, template_data

if TYPE_CHECKING:
    from bomgen.cabling.types import Wiring
    from bomgen.documents.diff.difference import Difference
    from bomgen.results.front import Front


def render(report: Report, formats: Sequence[str]) -> dict[str, bytes]:
    """Return the files of a report by name, in the requested formats or files, and those of the user's templates.

    Raises ValueError for an unknown format, PlanErrors if a template fails, OutputError for a PDF without WeasyPrint.
    """
    files: dict[str, bytes] = {}
    chosen = choose_documents(formats)
    source = DocumentInputs(report, [choice.form for choice in chosen])
    for form, kind in chosen:
        module = DOCUMENTS.module(form)
        source.begin(form)
        if kind:
            files[module.FILE.format(kind=kind)] = module.write(source, kind)
            continue
        written = module.write(source)
        files |= {
            module.FILE.format(name=name): content
            for name, content in (written if isinstance(written, dict) else {"": written}).items()
        }
    if report.templates:
        report_stage("templates")
        files |= templates.filled(report.templates, template_data(report), report.plan.quote.language)
    return files


def render_difference(difference: Difference, new: Report | None, form: str) -> bytes:
    """Return a difference as html, pdf or xlsx, in the language of the new plan's quote; `new` is its report.

    The order of an expansion becomes a quote for the customer: parts to buy, cables to move, surplus parts. Other
    differences, and those to a bom.json, become a page of changes. Raises OutputError if no PDF can be written.
    """
    from bomgen.documents.diff.contents import changes_document
    from bomgen.output.drawing.charts import changes_drawing

    words = language(new.plan.quote.language if new else ENGLISH)
    if new and new.growth:
        return render_page(DocumentInputs(new, ()).quote, words, form)
    return render_page(changes_document(difference, words, changes_drawing(difference, words)), words, form)


def render_search(front: Front, name: str, words: Language, form: str) -> bytes:
    """Return a search in a format: text, md, html, xlsx, csv or json; `name` is that of its plan."""
    from bomgen.documents.search import front_chart, search_csv, search_data, search_document  # which load NumPy
    from bomgen.output.drawing.charts import draw_chart

    if form == "json":
        return (json.dumps(search_data(front, name), ensure_ascii=False, indent=1) + "\n").encode()
    if form == "csv":
        return search_csv(front)
    chart = front_chart(front, words) if form == "html" else None
    drawing = draw_chart(chart, chart.id, words) if chart else None
    return render_page(search_document(front, name, words, drawing), words, form, every=True)


def write_wiring(wiring: Wiring, form: str, out: Path | None, progress: Callable[[int], None]) -> list[Path]:
    """Write a wiring in a format, atomically, or to standard output without a file; return the paths written.

    Formats with several files write the others next to the named one. Links are followed; pipes and devices are written
    to. Raises OutputError if a file cannot be written, and for a pipe or device if the format has several files.
    """
    module = WIRINGS.module(form)
    if out is None:
        _write_stream(module, wiring, sys.stdout.buffer, progress)
        sys.stdout.buffer.flush()
        return []

    def make(place: Path) -> None:
        if module.SEVERAL_FILES:
            module.write(wiring, place, progress)
        else:
            with place.open("wb") as stream:
                module.write(wiring, stream, progress)

    with _convert_errors(out):
        if _is_stream(out):
            if module.SEVERAL_FILES:
                raise OutputError(f"{out}: {form} has several files, which a pipe or device cannot take; name a file")
            with out.open("wb") as stream:
                _write_stream(module, wiring, stream, progress)
            return [out]
        place = _link_target(out)
        return place_files(place.parent, lambda folder: make(folder / place.name))


def _write_stream(module: Any, wiring: Wiring, stream: IO[bytes], progress: Callable[[int], None]) -> None:
    """Write a wiring to a stream without seeking: a binary format, which seeks, goes through a temporary file."""
    if not module.BINARY:
        module.write(wiring, stream, progress)
        return
    with TemporaryFile() as finished:
        module.write(wiring, finished, progress)
        finished.seek(0)
        shutil.copyfileobj(finished, stream)


def _is_stream(out: Path) -> bool:
    """Return whether a path is a pipe or a device, which must be written to rather than replaced."""
    return out.exists() and not out.is_file() and not out.is_dir()


def _link_target(out: Path) -> Path:
    place = Path(os.path.realpath(out)) if out.is_symlink() else out
    if place.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(out))
    return place


def write_one(content: bytes, out: Path) -> None:
    """Write a file atomically; links are followed, pipes and devices are written to.

    Raises OutputError if it cannot be written.
    """
    with _convert_errors(out):
        out = _link_target(out)
        if _is_stream(out):
            out.write_bytes(content)
        else:
            write_files({out.name: content}, out.parent)


def write_new(content: bytes, out: Path) -> None:
    """Write a new file atomically.

    Raises FileExistsError if it exists, and OutputError if it cannot be written.
    """
    with _convert_errors(out, but=FileExistsError):
        place_files(out.parent, lambda folder: (folder / out.name).write_bytes(content), exclusive=True)


def write_files(files: dict[str, bytes], folder: Path, below: Path | None = None) -> list[Path]:
    """Write files into a folder, all or none, and return their paths; existing files remain until all are on disk.

    Raises OutputError if the folder or a file cannot be written, or if the folder is a link that leads out of `below`:
    the author of the plan may have made the link, to overwrite other files.
    """

    def make(place: Path) -> None:
        for name, content in files.items():
            try:
                (place / name).write_bytes(content)
            except OSError as error:  # those of writing lack the name of the file
                named = str(error.filename or place / name)
                raise OSError(error.errno, error.strerror or str(error), named) from error

    if below is not None and not folder.resolve().is_relative_to(below.resolve()):
        raise OutputError(f"{folder}: a link that leads out of {below}; name the folder itself with -o")
    with _convert_errors(folder):
        place_files(folder, make)
    return [folder / name for name in files]


def replace(files: dict[str, bytes], folder: Path) -> list[Path]:
    """Write files as `write_files` and return their paths; replaced files keep their permissions."""

    def make(place: Path) -> None:
        for name, content in files.items():
            (place / name).write_bytes(content)
            if (folder / name).exists():
                shutil.copymode(folder / name, place / name)

    with _convert_errors(folder):
        return place_files(folder, make)


@contextmanager
def _convert_errors(out: Path, but: type[OSError] | None = None) -> Iterator[None]:
    """Raise OutputError for a system error, with the file or folder that could not be written."""
    try:
        yield
    except OSError as error:
        if but and isinstance(error, but):
            raise
        about = out if error.filename in (None, str(out.parent)) else error.filename
        raise OutputError(f"{about}: {error.strerror or error}") from error


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


def place_files(folder: Path, make: Callable[[Path], object], exclusive: bool = False) -> list[Path]:
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
