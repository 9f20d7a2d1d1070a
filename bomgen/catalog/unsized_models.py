"""Models that bomgen does not size, because their work does not follow from parameters and tokens.

The beginnings of their names are data, `data/unsized-models.yaml`, by kind.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from bomgen.core.resources import folder
from bomgen.core.yaml_source import own

FILE = "unsized-models.yaml"


def kind_of_unsized(name: str) -> str | None:
    """Return the kind of a model that is not sized, such as diffusion, by its name; None for any other."""
    own_name = name.lower().rpartition("/")[2].replace("_", "-").replace(" ", "-")
    # The whole name may be the family's alone: `vit`, of which the file has `vit-`.
    kinds = (kind for kind, names in _names().items() if f"{own_name}-".startswith(tuple(names)))
    return next(kinds, None)


@cache
def _names() -> Mapping[str, Sequence[str]]:
    path = folder("data") / FILE
    names: Mapping[str, Sequence[str]] = own(path, path.name).data
    return names
