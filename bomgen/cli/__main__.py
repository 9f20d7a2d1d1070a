"""`python -m bomgen.cli` is the command."""

from __future__ import annotations

from bomgen.cli.command import run

run()
