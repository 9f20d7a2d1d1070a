"""The server of the page, on loopback: its files, and the calls of `bomgen serve` as JSON over HTTP.

Another web page in the same browser can send requests to this machine, and by DNS under a name of its own. So every
call carries a random token, which only the address that was printed has; Host must be this machine and Origin this
server; a body is JSON, which a form cannot send. The page itself may load nothing from elsewhere and run no script that
is not a file of the package.
"""

from __future__ import annotations

import json
import mimetypes
import secrets
import socket
from base64 import b64decode
from collections.abc import Generator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore, Thread, Timer
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from bomgen.core.resources import content
from bomgen.output.writer import OutputError
from bomgen.serve.calls import CALLS
from bomgen.serve.pages import Pages
from bomgen.serve.problems import error_data
from bomgen.serve.workspace import NO_VERSION, FileChanged, Refused, Workspace, gallery, open_design, text_of, unpack

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
MOST_BODY = 10 * 10**6
"""Largest body of a request [bytes]."""
MOST_AT_ONCE = 32
"""Calls that are answered at once; more wait."""
MOST_CONNECTIONS = 256
"""Open connections; more are closed at once. As many wait to be accepted."""
SILENT_S = 30
"""Seconds after which a connection that sends nothing, or takes nothing, is closed."""
MOST_HEAD_S = 5
"""Seconds in which the head of a request must be there: whoever sends it byte by byte keeps others out."""
TOKEN_BYTES = 24
PAGE = Path(__file__).parent / "page"
"""The files of the page."""
INDEX = "index.html"
TYPES = {".js": "text/javascript", ".css": "text/css", ".html": "text/html", ".svg": "image/svg+xml"}
WRONG_ADDRESS = "the token is missing or wrong; use the address that `bomgen serve` printed"
MOST_NAME = 64
"""Characters of the id of a page."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; frame-src 'self' blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""Styles may be inline: the editor makes some, and so do documents in frames, which inherit the policy."""
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
    "Connection": "close",
}

Data = dict[str, Any]


class HttpError(Exception):
    """A request that gets an error as its answer: the status, a code and a message."""

    def __init__(self, status: int, error: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.status, self.data = status, error_data(error, message, **more)


class PageServer(ThreadingHTTPServer):
    """The server of one workspace."""

    daemon_threads = True
    request_queue_size = MOST_CONNECTIONS
    allow_reuse_address = True

    def __init__(self, workspace: Workspace, port: int = 0, opened: str | None = None) -> None:
        """Listen on a port of loopback, or with 0 on a free one; `opened` is the plan that the page opens."""
        self.workspace, self.pages, self.opened = workspace, Pages(workspace), opened
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        self.places = BoundedSemaphore(MOST_AT_ONCE)
        self._connections = BoundedSemaphore(MOST_CONNECTIONS)
        super().__init__((LOOPBACK, port), _Handler)
        Thread(target=self.pages.warm_up, daemon=True).start()

    @property
    def address(self) -> str:
        """Return the address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread, or close its connection where there are too many."""
        if self._connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a request, and make room for another connection."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of connections that break."""

    def server_close(self) -> None:
        """Close the server and end its processes."""
        super().server_close()
        self.pages.close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bomgen", ""
    timeout = SILENT_S
    server: PageServer

    def setup(self) -> None:
        """Wait for the head of a request, though not for long."""
        super().setup()
        self._late = Timer(MOST_HEAD_S, self._hang_up)
        self._late.daemon = True
        self._late.start()

    def finish(self) -> None:
        """Close the connection."""
        self._late.cancel()
        with suppress(OSError):
            super().finish()

    def _hang_up(self) -> None:
        with suppress(OSError):
            self.connection.shutdown(socket.SHUT_RDWR)

    def do_GET(self) -> None:
        self._answer(self._file)

    def do_POST(self) -> None:
        self._answer(self._call)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address has the token."""

    def _answer(self, work: Any) -> None:
        self._late.cancel()
        self.close_connection = True
        try:
            self._check_sender()
            work()
        except HttpError as error:
            self._send(error.status, _json(error.data), "application/json")
        except (BrokenPipeError, ConnectionError, TimeoutError):
            return

    def _check_sender(self) -> None:
        """Raise HttpError for a request that does not come from the page, or from an address of this machine."""
        hosts = [f"{host}:{self.server.server_port}" for host in HOSTS]
        if self.headers.get_all("Host", []) not in [[host] for host in hosts]:
            raise HttpError(HTTPStatus.FORBIDDEN, "host", "this server answers only at the address that it printed")
        origin, site = self.headers.get("Origin"), self.headers.get("Sec-Fetch-Site", "none")
        is_foreign = origin is not None and origin not in [f"http://{host}" for host in hosts]
        if is_foreign or site not in ("none", "same-origin"):
            raise HttpError(HTTPStatus.FORBIDDEN, "origin", "requests of other pages are not answered")

    def _address(self) -> SplitResult:
        """Return the address of the request."""
        try:
            return urlsplit(self.path)
        except ValueError:
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "the address of the request cannot be read") from None

    def _check_token(self) -> None:
        given = parse_qs(self._address().query).get("token", [""])[0]
        if not secrets.compare_digest(given.encode(), self.server.token.encode()):
            raise HttpError(HTTPStatus.FORBIDDEN, "token", WRONG_ADDRESS)

    # files ----------------------------------------------------------------------------------------------------------

    def _file(self) -> None:
        """Send a file of the page; the page itself needs the token."""
        path = self._address().path
        if path == "/":
            self._check_token()
            path = f"/{INDEX}"
        name = path.removeprefix("/")
        if name not in _page_files():
            raise HttpError(HTTPStatus.NOT_FOUND, "not-found", "there is no such file")
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        text = kind.startswith("text/") or kind == TYPES[".svg"]
        self._send(HTTPStatus.OK, content(PAGE / name), f"{kind}; charset=utf-8" if text else kind)

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self) -> None:
        self._check_token()
        above, _, name = self._address().path.rpartition("/")
        if above != "/api" or (name not in CALLS and name not in OWN_CALLS):
            raise HttpError(HTTPStatus.NOT_FOUND, "not-found", "there is no such call")
        request = self._request()
        page, turn = request.get("page", "page"), request.get("turn", 0)
        if not isinstance(page, str) or not 1 <= len(page) <= MOST_NAME:
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "`page` must be a short text")
        if type(turn) is not int or turn < 0:
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "`turn` must be a whole number")
        with self.server.places:
            self._answer_call(name, request, page, turn)

    def _answer_call(self, name: str, request: Data, page: str, turn: int) -> None:
        if name in OWN_CALLS:
            self._send(HTTPStatus.OK, _json(_own_call(self.server, name, request, page)), "application/json")
        elif name == "download":
            self._download(self.server.pages.call(page, name, request, turn))
        elif CALLS[name].long:
            self._stream(self.server.pages.call(page, name, request, turn))
        else:
            [answer] = self.server.pages.call(page, name, request, turn)
            self._send(
                answer.get("status", HTTPStatus.OK),
                _json(answer.get("result", answer.get("error"))),
                "application/json",
            )

    def _request(self) -> Data:
        """Return the body of a request, a JSON object."""
        if self.headers.get_content_type() != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "type", "a request is application/json")
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not length.isascii() or not length.isdecimal():
            raise HttpError(HTTPStatus.LENGTH_REQUIRED, "length", "a request needs a Content-Length")
        if len(length) > len(str(MOST_BODY)) or int(length) > MOST_BODY:
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", f"over {MOST_BODY} bytes")
        try:
            data = json.loads(self.rfile.read(int(length)).decode("utf-8"))
            _json(data)  # half of a surrogate pair is no text
        except (ValueError, RecursionError):
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "the request is not JSON") from None
        if not isinstance(data, dict):
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "the request is not a JSON object")
        return data

    def _download(self, answers: Generator[Data, None, None]) -> None:
        """Send the file that is the result of a call."""
        *_, answer = answers
        if "result" not in answer:
            raise HttpError(answer["status"], **answer["error"])
        found = answer["result"]
        name = json.dumps(found["name"])
        body = b64decode(found["base64"])
        self._send(HTTPStatus.OK, body, found["type"], {"Content-Disposition": f"attachment; filename={name}"})

    def _stream(self, answers: Generator[Data, None, None]) -> None:
        """Send progress as lines, and then the answer; the call ends when the page is gone."""
        first = next(answers)
        self._start(first.get("status", HTTPStatus.OK), "application/x-ndjson", {})
        try:
            self.wfile.write(_line(first))
            for answer in answers:
                self.wfile.write(_line(answer))
        finally:
            answers.close()  # the call is then stopped

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self._start(status, kind, {"Content-Length": str(len(body)), **(more or {})})
        self.wfile.write(body)
        with suppress(OSError):  # what was not read of a refused body would reset the connection
            self.connection.shutdown(socket.SHUT_WR)

    def _start(self, status: int, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for header, value in {**HEADERS, "Content-Type": kind, **more}.items():
            self.send_header(header, value)
        self.end_headers()


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8")


def _line(answer: Data) -> bytes:
    return _json(answer if "progress" in answer else answer.get("result", answer.get("error"))) + b"\n"


def _page_files() -> set[str]:
    """Return the files of the page."""
    return {path.relative_to(PAGE).as_posix() for path in PAGE.rglob("*") if path.is_file()} if PAGE.is_dir() else set()


# calls that need no process -----------------------------------------------------------------------------------------


def _own_call(server: PageServer, name: str, request: Data, page: str) -> Data:
    """Return the result of a call that only reads or writes a file."""
    try:
        return OWN_CALLS[name](server, request, page)
    except Refused as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "refused", error.said(request)) from None
    except FileChanged as changed:
        message = "the file has changed on disk since it was read"
        raise HttpError(HTTPStatus.CONFLICT, "changed", message, text=changed.text, version=changed.version) from None
    except (OSError, OutputError) as error:
        message = (isinstance(error, OSError) and error.strerror) or str(error)
        raise HttpError(HTTPStatus.BAD_REQUEST, "failed", message) from None


def _files(server: PageServer, _request: Data, _page: str) -> Data:
    plans = [*server.workspace.plans()]
    return {"root": str(server.workspace.folder), "opened": server.opened, "plans": plans, "gallery": gallery()}


def _open(server: PageServer, request: Data, _page: str) -> Data:
    if "gallery" in request:
        return open_design(text_of(request, "gallery"))
    if "packed" in request:
        return {"path": "shared.yaml", "text": unpack(text_of(request, "packed")), "version": NO_VERSION}
    text, version = server.workspace.read(path := text_of(request, "path"))
    return {"path": path, "text": text, "version": version}


def _save(server: PageServer, request: Data, _page: str) -> Data:
    version = server.workspace.save(text_of(request, "path"), text_of(request, "text"), text_of(request, "version"))
    return {"version": version}


def _stop(server: PageServer, _request: Data, page: str) -> Data:
    server.pages.stop(page)
    return {}


OWN_CALLS = {"files": _files, "open": _open, "save": _save, "stop": _stop}
