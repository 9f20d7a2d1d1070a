"""The formats of a folder: each module is a format, named as `-f` names it.

The command line, the library and the documentation list the folder, so a format is added by adding a module. Constants
of the module describe the format. A document imports its renderer inside `write`, because `build` imports every format
of a document to know the names of its files.

A document, a module of `output/formats/`, has

- `ABOUT`: its description, in one sentence;
- `FILE`: its file name, such as `bom.json`; with `{name}` there is a file per fabric, with `{kind}` one for the
  customer, the quote, and one for the engineer, the report;
- `BINARY`: whether a terminal cannot show it;
- `write(source)`: takes `DocumentInputs` and returns the bytes of the file, or for a file per fabric the bytes by
  fabric; for two kinds `write(source, kind)`;
- `PACKAGE`, if it needs one that bomgen does not: its name, as Python imports it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

FOLDER = Path(__file__).parent


QUOTE, REPORT = KINDS = ("quote", "report")
"""The document that the customer signs, and the one that the engineer checks."""
KIND = "{kind}"
"""Placeholder in file names with one file per kind of document."""


class Formats:
    """The formats of a folder of `output/`, those in `first` first; `helpers` are modules other than formats."""

    def __init__(self, folder: str, first: tuple[str, ...] = (), helpers: tuple[str, ...] = ()) -> None:
        self._folder, self._first, self._helpers = folder, first, ("__init__", *helpers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Return the names of all formats: the first ones, then the others by name."""
        found = sorted(path.stem for path in (FOLDER / self._folder).glob("*.py") if path.stem not in self._helpers)
        return tuple(dict.fromkeys((*self._first, *found)))

    def module(self, name: str) -> Any:
        """Return the module of a format. Raises KeyError if there is none."""
        if name not in self.names:
            raise KeyError(name)
        return import_module(f"bomgen.output.{self._folder}.{name}")

    def constant(self, name: str, constant: str, default: Any = None) -> Any:
        """Return a constant of a format's module, or `default`. Raises KeyError as `module`."""
        return getattr(self.module(name), constant, default)

    def suffixes(self) -> dict[str, tuple[str, ...]]:
        """Return the suffixes of the files of each format besides its name."""
        return {name: self.constant(name, "SUFFIXES", ()) for name in self.names}

    def described(self) -> list[tuple[str, str]]:
        """Return every format with its description, after its file name if that is fixed."""
        found = ((name, ", ".join(self.files(name)), self.constant(name, "ABOUT")) for name in self.names)
        return [(name, f"{files}: {about}" if files else about) for name, files, about in found]

    def files(self, name: str) -> tuple[str, ...]:
        """Return the file names of a format, with `NAME` for a fabric; empty if they are not fixed."""
        file = self.constant(name, "FILE", "")
        kinds = KINDS if KIND in file else ("",)
        return tuple(file.format(kind=kind, name="NAME") for kind in kinds if file)


class DocumentRequest(NamedTuple):
    """A document to write: its format, and its kind if the format has two."""

    form: str
    kind: str = ""


DEFAULT_DOCUMENTS = ("md", "html", "xlsx", "json", "csv")
"""Formats written by default."""
DOCUMENTS = Formats("formats", DEFAULT_DOCUMENTS)
"""Document formats of `bomgen build`."""
WIRINGS = Formats("wiring", helpers=("columns", "subnet"))
"""Cable list formats of `bomgen wiring`."""
PRICE_LISTS = Formats("price_lists", first=("csv",), helpers=("forms",))
"""Price book forms of `bomgen prices` (output/price_lists/forms.py)."""


def choose_documents(names: Iterable[str]) -> list[DocumentRequest]:
    """Return the documents for formats and file names, such as `quote.md`, without duplicates, quotes first.

    Raises ValueError for a name that is neither.
    """
    found: dict[str, list[DocumentRequest]] = {}
    for form in DOCUMENTS.names:
        files = DOCUMENTS.files(form)
        choices = [DocumentRequest(form, kind) for kind in KINDS] if len(files) > 1 else [DocumentRequest(form)]
        found[form] = choices
        found |= {file: [choice] for file, choice in zip(files, choices, strict=True)}
    wanted = list(names)
    if unknown := [name for name in wanted if name not in found]:
        message = f"no format '{', '.join(unknown)}'; there are {','.join(DOCUMENTS.names)}, or a file such as quote.md"
        raise ValueError(message)
    chosen = dict.fromkeys(choice for name in wanted for choice in found[name])
    return sorted(chosen, key=lambda choice: KINDS.index(choice.kind) if choice.kind else len(KINDS))


def is_file_of_bomgen(name: str) -> bool:
    """Return whether a file name is that of a document of some plan."""
    files = (file for form in DOCUMENTS.names for file in DOCUMENTS.files(form))
    return any(re.fullmatch(re.escape(file).replace("NAME", ".*"), name) for file in files)


# formats ------------------------------------------------------------------------------------------------------------
# The wiring in formats for other programs: one module per format, found by its name (output/registry.py).
#
# A module has `ABOUT`, a short description; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`; `ONE_FABRIC`,
# whether it holds a single fabric; `SUFFIXES` of its files besides its name; and `write(wiring, out, progress)`, where
# `out` is a binary stream, or for several files the path of the named one, next to which the others are written.

Progress = Callable[[int], None]
"""Callback with the number of cables written since the last call."""


class Unsuitable(Exception):
    """A format cannot represent its input; the message suggests what it can."""
