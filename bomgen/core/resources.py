"""Files of the installation: schemas, templates and data, and what is read from schemas.

In a checkout (and so in an editable install) `schemas/`, `templates/` and `plans/` lie beside the package; a wheel
carries them inside it. `data/` is always inside.
"""

from __future__ import annotations

import base64
import errno
import os
import re
from functools import cache
from pathlib import Path
from typing import Any

from bomgen import __version__

PACKAGE = Path(__file__).parents[1]
RECORD = PACKAGE.parent / f"bomgen-{__version__}.dist-info" / "RECORD"
"""The installer's record of every installed file with its digest; a checkout has none."""
DIGEST = "sha256="


_NO_MEMORY = re.compile(
    "cannot allocate memory|failed to map segment|cannot map zero-fill|out of memory"
    "|error return without exception set",
    re.IGNORECASE,
)
"""Messages of dynamic linkers about a library that does not fit into memory (glibc and musl, `dlopen`), and of CPython
where its own code fails to allocate without saying so."""


def is_out_of_memory(error: BaseException | None) -> bool:
    """Return whether an error is due to too little memory, including failures to load a library."""
    while error is not None:
        short = isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno == errno.ENOMEM)
        if short or (isinstance(error, ImportError | OSError | SystemError) and _NO_MEMORY.search(str(error))):
            return True
        error = error.__cause__ or error.__context__
    return False


class BrokenInstallation(Exception):
    """A file of the installation that is missing, unreadable or modified; which, and why."""


@cache
def folder(name: str) -> Path:
    """Return the folder `schemas`, `templates`, `plans` or `data`.

    Raises BrokenInstallation when the installation lacks it, or a file in it.
    """
    for path in (PACKAGE / name, PACKAGE.parent / name):
        if path.is_dir():
            noted = [file for file in recorded() if file.startswith(f"{path.as_posix()}/")]
            walked = os.walk(path) if noted else ()
            there = {f"{Path(directory).as_posix()}/{file}" for directory, _, files in walked for file in files}
            for file in noted:
                if file not in there:
                    raise BrokenInstallation(f"there is no file {file}")
            return path
    raise BrokenInstallation(f"there is no folder {PACKAGE / name}")


@cache
def recorded() -> dict[str, str]:
    """Return the digest of each file of the package by its path, as installed; empty without an installer's record."""
    try:
        lines = RECORD.read_text("utf-8").splitlines()
    except OSError:
        return {}
    rows = (line.rsplit(",", 2) for line in lines if line.startswith(f"{PACKAGE.name}/"))
    return {(PACKAGE.parent / row[0]).as_posix(): row[1] for row in rows if row[1].startswith(DIGEST)}


def content(path: Path) -> bytes:
    """Return the content of a file of the installation. Raises BrokenInstallation when it was modified."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise BrokenInstallation(f"{path} cannot be read ({error.strerror})") from None
    if noted := recorded().get(path.as_posix()):
        import hashlib

        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        if noted != DIGEST + digest:
            raise BrokenInstallation(f"{path} is not as it was installed")
    return data


@cache
def text(path: Path) -> str:
    """Return the text of a file of the installation, read once. Raises BrokenInstallation as `content` does."""
    try:
        return content(path).decode("utf-8")
    except UnicodeDecodeError:
        raise BrokenInstallation(f"{path} is no text") from None


def languages() -> tuple[str, ...]:
    """Return the codes of the available languages: each is a file in `data/language/`."""
    return tuple(sorted(path.stem for path in (folder("data") / "language").glob("*.yaml")))


# schema reading -----------------------------------------------------------------------------------------------------
# Reading of JSON Schemas other than validation; importing this does not import the validation library.

IDS = "x-catalog"
"""The keyword of values or keys that are ids of the catalogue: a list of kinds."""


def unfold(whole: dict[str, Any], schema: Any) -> list[dict[str, Any]]:
    """Return a schema of a document together with the schemas it refers to; none for a value that is not a mapping."""
    if not isinstance(schema, dict):
        return []
    schemas = [schema]
    if "$ref" in schema:
        target: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schemas += unfold(whole, target)
    return schemas + unfold(whole, schema.get("then"))
