"""Plans that share parts: `extends` names files whose values hold where the plan says nothing.

The files are merged before anything else looks at the plan, and every value keeps its mark, so that no later stage
knows of files. For the same reason the paths of a base are rewritten relative to the plan here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path as FilePath
from pathlib import PurePosixPath
from typing import Any

from bomgen.core.diagnostics import PlanErrors, Problem
from bomgen.core.provenance import FileName
from bomgen.core.yaml_source import Path, Source, decoded, merged, override, read
from bomgen.pricing.alternatives import ALTERNATIVES
from bomgen.workflow.plan_files import Contents, PlanFile, inside, read_once

KEY = "extends"
MAX_BASES = 20
"""Files that a plan may take values from, by way of others too."""
BOOKS: Path = ("quote", "price_book")
COST_BOOKS: Path = ("quote", "cost_book")
LOGO: Path = ("quote", "vendor", "logo")
TEMPLATES: Path = ("templates",)
PATHS: tuple[Path, ...] = (("catalog",), BOOKS, COST_BOOKS, LOGO, TEMPLATES)
"""The keys whose values are paths of files: one, or a list."""


def extended(file: PlanFile, settings: Sequence[str], contents: Contents) -> Source:
    """The data of a plan laid over that of the files it extends.

    Paths in these are relative to the file that they stand in; here they are made relative to the plan. A setting of
    `extends` itself decides which files these are; no other setting is looked at. Their bytes are put into `contents`.

    Raises PlanErrors when the plan or one of these files is no mapping, cannot be read, or extends itself.
    """
    name = FileName(file.name, file.recorded)
    source = _mapping(file.content, name, "a mapping with `bomgen: 1`, `name:` and `cluster:` must stand here")
    chosen = [setting for setting in settings if setting.partition("=")[0] == KEY]
    if chosen:
        source = override(source, chosen)
    own = (file.folder / FilePath(file.name).name).resolve()
    return _over_bases(file, source, PurePosixPath("."), {own: name}, contents)


def _over_bases(
    file: PlanFile, source: Source, folder: PurePosixPath, above: dict[FilePath, str], contents: Contents
) -> Source:
    """A source over the files that it extends; `folder` is its own relative to the plan, `above` who asked for it."""
    under: Source | None = None
    for path, given in _named(source):
        mark = source.mark(path)
        place = inside(file, str(folder / given), mark, KEY)
        shown = file.shown(str(folder / given))
        if place in above:
            message = f"'{given}' extends itself, by way of {', '.join(above.values())}; remove one of them"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        try:
            content = read_once(contents, place, shown)
        except OSError as error:
            message = f"the plan '{given}' cannot be read ({error.strerror}); give its path relative to this file"
            raise PlanErrors([Problem(mark, "error", message, "no-file", KEY)]) from None
        base = _mapping(content, shown, "a mapping of keys that plans have must stand here")
        at = PurePosixPath(os.path.normpath(folder / given))
        base = _over_bases(file, base, at.parent, above | {place: shown}, contents)
        base = _relative(base, at.parent)._replace(files=(*base.files, (str(at), content)))
        if len(base.files) > MAX_BASES or (under and len(under.files) + len(base.files) > MAX_BASES):
            message = f"values from more than {MAX_BASES} files; put some of them together"
            raise PlanErrors([Problem(mark, "error", message, KEY, KEY)])
        under = merged(under, base) if under else base
    return merged(under, source) if under else source


def _named(source: Source) -> Iterator[tuple[Path, str]]:
    """The files that a source extends, each with its place; what is no text is left to the schema."""
    named: Any = source.data.get(KEY)
    if isinstance(named, str):
        yield (KEY,), named
    elif isinstance(named, list):
        yield from (((KEY, at), given) for at, given in enumerate(named) if isinstance(given, str))


def _mapping(content: bytes, name: str, wanted: str) -> Source:
    source = read(decoded(content, name), name)
    if not isinstance(source.data, dict):
        raise PlanErrors([Problem(source.mark(()), "error", f"no plan: {wanted}", "type")])
    return source


def _relative(base: Source, folder: PurePosixPath) -> Source:
    """A base whose own paths, relative to its folder, are made relative to the plan; those of its bases already are."""
    if str(folder) == ".":
        return base
    own = base.values[()].file
    for path in PATHS:
        holder: Any = base.data
        for step in path[:-1]:
            holder = holder.get(step) if isinstance(holder, dict) else None
        value = holder.get(path[-1]) if isinstance(holder, dict) else None
        if value is None or base.mark(path).file != own:
            continue
        holder[path[-1]] = _all_moved(value, folder)
    if base.mark(ALTERNATIVES).file == own:
        for settings in _settings_of(base.data):
            for key in settings:
                if any(tuple(key.split("."))[: len(path)] == path for path in PATHS):
                    settings[key] = _all_moved(settings[key], folder)
    return base


def _settings_of(data: Any) -> Iterator[dict[str, Any]]:
    """What the alternatives of a plan set; what is none is left to the schema."""
    quoted = data.get(ALTERNATIVES[0])
    given = quoted.get(ALTERNATIVES[1]) if isinstance(quoted, dict) else None
    for alternative in given if isinstance(given, list) else ():
        settings = alternative.get("set") if isinstance(alternative, dict) else None
        if isinstance(settings, dict):
            yield settings


def _all_moved(given: Any, folder: PurePosixPath) -> Any:
    return [_moved(each, folder) for each in given] if isinstance(given, list) else _moved(given, folder)


def _moved(given: Any, folder: PurePosixPath) -> Any:
    """A path relative to a folder, from where the folder itself is named."""
    return os.path.normpath(folder / given) if isinstance(given, str) and given else given
