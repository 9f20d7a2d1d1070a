"""`python -m bomgen.cli` is the command."""

from bomgen.cli.command import run

run()
