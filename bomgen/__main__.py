"""The program `bomgen`. Until the command is loaded, which takes a moment, Ctrl-C just ends it."""

from __future__ import annotations

import signal


def run() -> None:
    """Load the command and run it."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from bomgen.cli.command import run as command

    command()


if __name__ == "__main__":
    run()
