"""Written files of a report: every format of a quote and of a wiring, atomically."""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path as FilePath
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Any

from bomgen.core.diagnostics import OutputError
from bomgen.core.jobs import report_stage
from bomgen.core.language import Language, language
from bomgen.core.messages import ENGLISH
from bomgen.output import atomic_write
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


def write_wiring(wiring: Wiring, form: str, out: FilePath | None, progress: Callable[[int], None]) -> list[FilePath]:
    """Write a wiring in a format, atomically, or to standard output without a file; return the paths written.

    Formats with several files write the others next to the named one. Links are followed; pipes and devices are written
    to. Raises OutputError if a file cannot be written, and for a pipe or device if the format has several files.
    """
    module = WIRINGS.module(form)
    if out is None:
        _write_stream(module, wiring, sys.stdout.buffer, progress)
        sys.stdout.buffer.flush()
        return []

    def make(place: FilePath) -> None:
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
        return atomic_write.place(place.parent, lambda folder: make(folder / place.name))


def _write_stream(module: Any, wiring: Wiring, stream: IO[bytes], progress: Callable[[int], None]) -> None:
    """Write a wiring to a stream without seeking: a binary format, which seeks, goes through a temporary file."""
    if not module.BINARY:
        module.write(wiring, stream, progress)
        return
    with TemporaryFile() as finished:
        module.write(wiring, finished, progress)
        finished.seek(0)
        shutil.copyfileobj(finished, stream)


def _is_stream(out: FilePath) -> bool:
    """Return whether a path is a pipe or a device, which must be written to rather than replaced."""
    return out.exists() and not out.is_file() and not out.is_dir()


def _link_target(out: FilePath) -> FilePath:
    place = FilePath(os.path.realpath(out)) if out.is_symlink() else out
    if place.is_symlink():
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), str(out))
    return place


def write_one(content: bytes, out: FilePath) -> None:
    """Write a file atomically; links are followed, pipes and devices are written to.

    Raises OutputError if it cannot be written.
    """
    with _convert_errors(out):
        out = _link_target(out)
        if _is_stream(out):
            out.write_bytes(content)
        else:
            write_files({out.name: content}, out.parent)


def write_new(content: bytes, out: FilePath) -> None:
    """Write a new file atomically.

    Raises FileExistsError if it exists, and OutputError if it cannot be written.
    """
    with _convert_errors(out, but=FileExistsError):
        atomic_write.place(out.parent, lambda folder: (folder / out.name).write_bytes(content), exclusive=True)


def write_files(files: dict[str, bytes], folder: FilePath, below: FilePath | None = None) -> list[FilePath]:
    """Write files into a folder, all or none, and return their paths; existing files remain until all are on disk.

    Raises OutputError if the folder or a file cannot be written, or if the folder is a link that leads out of `below`:
    the author of the plan may have made the link, to overwrite other files.
    """

    def make(place: FilePath) -> None:
        for name, content in files.items():
            try:
                (place / name).write_bytes(content)
            except OSError as error:  # those of writing lack the name of the file
                named = str(error.filename or place / name)
                raise OSError(error.errno, error.strerror or str(error), named) from error

    if below is not None and not folder.resolve().is_relative_to(below.resolve()):
        raise OutputError(f"{folder}: a link that leads out of {below}; name the folder itself with -o")
    with _convert_errors(folder):
        atomic_write.place(folder, make)
    return [folder / name for name in files]


def replace(files: dict[str, bytes], folder: FilePath) -> list[FilePath]:
    """Write files as `write_files` and return their paths; replaced files keep their permissions."""

    def make(place: FilePath) -> None:
        for name, content in files.items():
            (place / name).write_bytes(content)
            if (folder / name).exists():
                shutil.copymode(folder / name, place / name)

    with _convert_errors(folder):
        return atomic_write.place(folder, make)


@contextmanager
def _convert_errors(out: FilePath, but: type[OSError] | None = None) -> Iterator[None]:
    """Raise OutputError for a system error, with the file or folder that could not be written."""
    try:
        yield
    except OSError as error:
        if but and isinstance(error, but):
            raise
        about = out if error.filename in (None, str(out.parent)) else error.filename
        raise OutputError(f"{about}: {error.strerror or error}") from error
