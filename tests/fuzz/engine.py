"""One target under libFuzzer, by way of atheris: `python engine.py TARGET [libFuzzer's options and corpora]`."""

from __future__ import annotations

import importlib
import os
import random
import sys

import atheris
from hunt import HERE, STARTED_BY

ROOMS = {
    "source": ("bomgen.core.yaml_source",),
    "quantities": ("bomgen.core.units", "bomgen.core.language"),
    "books": ("bomgen.pricing.price_book", "bomgen.output.price_lists", "bomgen.core.safety"),
    "templates": ("bomgen.output.template_sandbox", "jinja2"),
    "bind": ("bomgen",),
}
"""What the coverage of each target is counted in."""


def main() -> None:
    """Fuzz the target that the first argument names."""
    target = sys.argv.pop(1)
    sys.argv[0] = os.environ.get(STARTED_BY, sys.argv[0])
    sys.path[:0] = [str(HERE), str(HERE.parents[1])]
    with atheris.instrument_imports(include=[*ROOMS[target]]):
        module = importlib.import_module(f"fuzz_{target}")
        if hasattr(module, "load"):
            module.load()
    if hasattr(module, "set_up"):
        module.set_up()

    def mutator(data: bytes, most: int, seed: int) -> bytes:
        changed: bytes = module.mutated(data, most, random.Random(seed), atheris.Mutate)  # noqa: S311
        return changed[:most]

    atheris.Setup(sys.argv, module.run, **({"custom_mutator": mutator} if hasattr(module, "mutated") else {}))
    atheris.Fuzz()


if __name__ == "__main__":
    main()
