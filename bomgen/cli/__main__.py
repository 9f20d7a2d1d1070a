"""`python -m bomgen.cli` is the command."""

from bomgen.cli import run

run()
