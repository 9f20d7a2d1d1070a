"""The formats of a folder: each module is a format, named as `-f` names it.

The command line, the library and the documentation read the folder, so a format is added by one module. What a format
says of itself stands in constants of its module. They are read from the source: the module itself loads libraries that
help and completion need not wait for.

A document, a module of `output/documents/`, has

- `ABOUT`: what it is, in one sentence;
- `FILE`: the name of the file, as `quote.md`; with `{name}` in it there is a file for every fabric;
- `BINARY`: whether a terminal cannot show it;
- `write(source)`: takes a `Source`, gives the bytes of the file; of a file for every fabric the bytes by fabric;
- `DEPRECATED`, where the format is to go: what to write instead.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent


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
        """A constant of the module of a format, without importing it. Raises KeyError when there is no such format."""
        if name not in self.names:
            raise KeyError(name)
        for statement in ast.parse((FOLDER / self._folder / f"{name}.py").read_text("utf-8")).body:
            if isinstance(statement, ast.Assign) and getattr(statement.targets[0], "id", None) == constant:
                return ast.literal_eval(statement.value)
        return default

    def described(self) -> list[tuple[str, str]]:
        """Every format with what it is, behind the name of its file where that is fixed."""
        found = ((name, self.constant(name, "FILE"), self.constant(name, "ABOUT")) for name in self.names)
        return [(name, f"{file.format(name='NAME')}: {about}" if file else about) for name, file, about in found]


DEFAULT_DOCUMENTS = ("md", "html", "xlsx", "json", "csv")
"""What is written where nobody names a format."""
DOCUMENTS = Formats("documents", DEFAULT_DOCUMENTS)
"""The documents of a quote: what `bomgen build` writes."""
WIRINGS = Formats("wiring", helpers=("columns", "formats", "subnet"))
"""The formats of the cable list: what `bomgen wiring` writes (output/wiring/formats.py)."""
PRICE_LISTS = Formats("price_lists", first=("csv",), helpers=("entries", "forms"))
"""The forms of price books: what `bomgen prices` writes (output/price_lists/forms.py)."""


def is_file_of_bomgen(name: str) -> bool:
    """Whether a document of some plan has the name of a file."""
    patterns = (re.escape(DOCUMENTS.constant(form, "FILE")).replace(r"\{name\}", ".*") for form in DOCUMENTS.names)
    return any(re.fullmatch(pattern, name) for pattern in patterns)
