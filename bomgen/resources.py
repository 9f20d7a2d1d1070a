"""Where the schemas, templates and data files lie.

In a checkout (and so in an editable install) `schemas/`, `templates/` and `plans/` lie beside the package; a wheel
carries them inside it. `data/` is always inside.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parent


@cache
def folder(name: str) -> Path:
    """The folder `schemas`, `templates`, `plans` or `data`. Raises FileNotFoundError when the installation lacks it."""
    for place in (PACKAGE / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise FileNotFoundError(f"the installation of bomgen lacks its folder {name}")


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages that there are: each is a file in `data/language/`."""
    return tuple(sorted(path.stem for path in (folder("data") / "language").glob("*.yaml")))
