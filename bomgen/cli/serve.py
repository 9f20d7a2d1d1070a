"""`bomgen serve`: a page on this machine to write plans and see their quotes."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from tempfile import mkstemp
from threading import Thread

import click

from bomgen.cli.command import complain, print_text
from bomgen.cli.options import option, proposed, root_option, talk_options
from bomgen.serve.calls import Workspace
from bomgen.serve.server import LOOPBACK, PageServer

MOST_PORT = 65535
LEADING = """<!doctype html>
<meta http-equiv="refresh" content="0; url={address}">
<a href="{address}">bomgen</a>
"""
"""A file that redirects a browser to the page."""


@click.command()
@click.argument("place", metavar="[PLAN or FOLDER]", default=".", shell_complete=proposed("plans"))
@option("--port N", "Port on this machine. [default: a free one]", type=click.IntRange(0, MOST_PORT), default=0)
@option("--no-browser", "Only print the address.")
@root_option
@talk_options
def serve(place: str, port: int, no_browser: bool, root: str | None) -> None:
    """Open a page in the browser to write plans and see quotes, reports and drawings as they change.

    The page reads and saves plans below FOLDER, or beside PLAN. It is served on this machine only, to whoever has the
    address with its token, and loads nothing from elsewhere. Ctrl-C ends it.
    """
    path = Path(place)
    if not path.exists():
        raise click.UsageError(f"there is no file or folder '{place}'")
    folder = path if path.is_dir() else path.parent
    workspace = Workspace(folder, Path(root) if root else None)
    try:
        server = PageServer(workspace, port, None if path.is_dir() else path.name)
    except OSError as error:
        raise click.UsageError(f"cannot listen on {LOOPBACK}:{port}: {error.strerror}; choose another --port") from None
    print_text(f"{server.address}\n")
    leading = None if no_browser else _write_leading_file(server.address)
    try:
        if leading:
            Thread(target=_open_browser, args=(leading, server), daemon=True).start()
        server.serve_forever()
    finally:
        server.server_close()
        if leading:
            leading.unlink(missing_ok=True)


def _write_leading_file(address: str) -> Path | None:
    """Write a file that redirects a browser to the page; None if that fails.

    Other users can see the arguments of a browser, but cannot read the file. It is in the home folder, because
    sandboxed browsers, such as snaps, have their own temporary folder.
    """
    try:
        descriptor, name = mkstemp(".html", "bomgen-", Path.home())
        with open(descriptor, "w", encoding="utf-8") as stream:
            stream.write(LEADING.format(address=address))
    except (OSError, RuntimeError) as error:
        complain(f"bomgen: cannot open a browser ({error}); open the address yourself")
        return None
    return Path(name)


def _open_browser(leading: Path, server: PageServer) -> None:
    """Open the page while the server answers: some browsers run until they are closed."""
    webbrowser.open(leading.as_uri())
    server.shown.wait()
    leading.unlink(missing_ok=True)
