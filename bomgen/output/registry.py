"""The formats of a folder: each module is a format, named as `-f` names it.

The command line, the library and the documentation list the folder, so a format is added by one module. What a format
says of itself are constants of its module. Help and completion import every module of a folder, so a module imports
what it writes with inside `write`: no library that only one format needs is loaded for the others.

A document, a module of `output/formats/`, has

- `ABOUT`: what it is, in one sentence;
- `FILE`: the name of the file, as `bom.json`; with `{name}` in it there is a file for every fabric, with `{kind}` one
  for the customer, the quote, and one for the engineer, the report;
- `BINARY`: whether a terminal cannot show it;
- `write(source)`: takes a `Source`, gives the bytes of the file; of a file for every fabric the bytes by fabric; where
  there are two kinds `write(source, kind)`;
- `DEPRECATED`, where the format is to go: what to write instead.
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
"""What the customer signs, and what the engineer checks."""
KIND = "{kind}"
"""In the name of a file: there is one of each kind."""


class Formats:
    """The formats of a folder of `output/`; `first` come first, `helpers` are modules that are no format."""

    def __init__(self, folder: str, first: tuple[str, ...] = (), helpers: tuple[str, ...] = ()) -> None:
        self._folder, self._first, self._helpers = folder, first, ("__init__", *helpers)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of all formats: the first ones, then the others by name."""
        found = sorted(path.stem for path in (FOLDER / self._folder).glob("*.py") if path.stem not in self._helpers)
        return tuple(dict.fromkeys((*self._first, *found)))

    def module(self, name: str) -> Any:
        """The module of a format. Raises KeyError when there is none."""
        if name not in self.names:
            raise KeyError(name)
        return import_module(f"bomgen.output.{self._folder}.{name}")

    def constant(self, name: str, constant: str, default: Any = None) -> Any:
        """Return a constant of a format's module, `default` where it has none. Raises KeyError as `module` does."""
        return getattr(self.module(name), constant, default)

    def described(self) -> list[tuple[str, str]]:
        """Every format with what it is, behind the name of its file where that is fixed."""
        found = ((name, ", ".join(self.files(name)), self.constant(name, "ABOUT")) for name in self.names)
        return [(name, f"{files}: {about}" if files else about) for name, files, about in found]

    def files(self, name: str) -> tuple[str, ...]:
        """The names of the files of a format, `NAME` in that of a fabric; empty where they are not fixed."""
        file = self.constant(name, "FILE", "")
        kinds = KINDS if KIND in file else ("",)
        return tuple(file.format(kind=kind, name="NAME") for kind in kinds if file)


class DocumentRequest(NamedTuple):
    """A document to write: its format, and its kind where the format has two."""

    form: str
    kind: str = ""


DEFAULT_DOCUMENTS = ("md", "html", "xlsx", "json", "csv")
"""What is written where nobody names a format."""
DOCUMENTS = Formats("formats", DEFAULT_DOCUMENTS)
"""The documents of a quote: what `bomgen build` writes."""
WIRINGS = Formats("wiring")
"""The formats of the cable list: what `bomgen wiring` writes."""
PRICE_LISTS = Formats("price_lists", first=("csv",), helpers=("forms",))
"""The forms of price books: what `bomgen prices` writes (output/price_lists/forms.py)."""


def choose_documents(names: Iterable[str]) -> list[DocumentRequest]:
    """The documents that formats and names of files, such as `quote.md`, stand for; each once, quotes first.

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
    """Whether a document of some plan has the name of a file."""
    files = (file for form in DOCUMENTS.names for file in DOCUMENTS.files(form))
    return any(re.fullmatch(re.escape(file).replace("NAME", ".*"), name) for file in files)


# formats ------------------------------------------------------------------------------------------------------------
# The wiring in formats that other programs read: one module a format, found by its name (output/registry.py).
#
# A module has `ABOUT`, what it is in a few words; `BINARY`, whether a terminal cannot show it; `SEVERAL_FILES`;
# `ONE_FABRIC`, whether it holds a single fabric; and `write(wiring, out, progress)`, where `out` is a binary stream, or
# for several files the path of the one that is named, beside which the others are laid.

Progress = Callable[[int], None]
"""Told how many cables were written since the last time."""


class Unsuitable(Exception):
    """A format cannot say what it is given; the message says what would be right."""
