"""Entry point of `python -m bomgen.cli`."""

from __future__ import annotations

from bomgen.cli.command import run

run()
