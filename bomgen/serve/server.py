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
from collections.abc import Callable, Generator, Mapping
from contextlib import suppress
from http import HTTPStatus
from http.client import LineTooLong
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from io import BufferedReader
from math import inf
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector
from threading import Event, Lock, Thread
from time import monotonic
from typing import Any
from urllib.parse import SplitResult, parse_qs, urlsplit

from bomgen.core.diagnostics import OutputError
from bomgen.core.resources import content
from bomgen.output.face import face_folder
from bomgen.serve.calls import (
    CALLS,
    NO_VERSION,
    PLAN,
    Data,
    FileChanged,
    Refused,
    Workspace,
    error_data,
    gallery,
    open_design,
    read_request,
    unpack,
)
from bomgen.serve.pages import Pages

# open connections -----------------------------------------------------------------------------------------------------
# Any program of the machine can connect. One that sends nothing, or a byte at a time, holds a place until its time is
# over or somebody else needs the place; those that have shown the token keep theirs.

MOST_CONNECTIONS = 256
"""Open connections; a new one takes the place of the oldest that has not shown the token."""
MOST_HEAD_S, MOST_BODY_S = 5, 30
"""Seconds in which the head of a request must be there, and then its body, however often a part of it comes."""
MOST_PIECE_S, PIECE = 30, 1 << 20
"""Seconds in which each piece of an answer must be taken, and its bytes; over a forwarded port 60 MB take a minute."""


class Connection:
    """An open connection, with the head of its request on the way."""

    def __init__(self, stream: socket.socket) -> None:
        self.known = False
        """Whether it has shown the token."""
        self.gone = Event()
        """Whether its client has left before there was an answer."""
        self._stream, self._due = stream, monotonic() + MOST_HEAD_S

    def allow(self, seconds: int) -> None:
        """Close the connection in so many seconds, whatever was allowed before."""
        self._due = monotonic() + seconds

    def wait(self) -> None:
        """Leave the connection open as long as the server works on the answer."""
        self._due = inf

    def close(self) -> None:
        """Close the connection; whoever reads or writes there gets an end or an error."""
        with suppress(OSError):
            self._stream.shutdown(socket.SHUT_RDWR)

    @property
    def is_late(self) -> bool:
        """Return whether the time of the connection is over."""
        return monotonic() >= self._due

    @property
    def waits(self) -> bool:
        """Return whether the client waits for the answer to a whole request."""
        return self._due == inf

    def look(self) -> None:
        """Check whether the client has left, if there is something to read: then this is the end."""
        with suppress(OSError):
            if self._stream.recv(1, socket.MSG_PEEK):
                return
        self.gone.set()


class Connections:
    """The open connections, the oldest first."""

    def __init__(self) -> None:
        self._open, self._lock = dict[socket.socket, Connection](), Lock()

    def enter(self, stream: socket.socket) -> bool:
        """Take in a connection, if need be in place of another one; return whether there is a place."""
        with self._lock:
            if len(self._open) >= MOST_CONNECTIONS:
                stranger = next((peer for peer, connection in self._open.items() if not connection.known), None)
                if stranger is None:
                    return False
                self._open.pop(stranger).close()
            self._open[stream] = Connection(stream)
            return True

    def leave(self, stream: socket.socket) -> None:
        """Make room for another connection."""
        with self._lock:
            self._open.pop(stream, None)

    def of(self, stream: socket.socket) -> Connection:
        """Return the connection of a socket, a closed one if it had to make room."""
        with self._lock:
            return self._open.get(stream) or Connection(stream)

    def tend(self) -> None:
        """Close connections whose time is over, and mark those whose clients have left."""
        with self._lock:
            connections = [*self._open.items()]
        for _, connection in connections:
            if connection.is_late:
                connection.close()
        if waiting := [entry for entry in connections if entry[1].waits]:
            with suppress(OSError), DefaultSelector() as selector:
                for stream, connection in waiting:
                    with suppress(ValueError, KeyError):  # closed meanwhile
                        selector.register(stream, EVENT_READ, connection)
                for key, _ in selector.select(0):
                    key.data.look()


# server ---------------------------------------------------------------------------------------------------------------

LOOPBACK = "127.0.0.1"
HOSTS = (LOOPBACK, "localhost")
MOST_HEAD, MOST_BODY = 1 << 16, 10 * 10**6
"""Largest head and largest body of a request [bytes]; Python reads 6.5 MB of headers from whoever connects."""
TOKEN_BYTES = 24
PAGE = Path(__file__).parent / "page"
"""The files of the page."""
INDEX = "index.html"
TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".html": "text/html",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
}
WRONG_ADDRESS = (
    "the token is missing or wrong; use the address that `bomgen serve` printed, and open a link with a plan there"
)
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
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
        self.token, self.connections = secrets.token_urlsafe(TOKEN_BYTES), Connections()
        self.shown = Event()
        """Whether a browser has the page."""
        super().__init__((LOOPBACK, port), _Handler)
        Thread(target=self.pages.warm_up, daemon=True).start()

    @property
    def address(self) -> str:
        """Return the address of the page, with its token."""
        return f"http://{LOOPBACK}:{self.server_port}/?token={self.token}"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer a request in a thread, if there is a place for its connection."""
        if self.connections.enter(request):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Close a connection, and make room for another one."""
        self.connections.leave(request)
        super().shutdown_request(request)

    def service_actions(self) -> None:
        """Look twice a second after connections that hang and calls that nobody waits for."""
        self.connections.tend()
        self.pages.tend()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore connections that break."""

    def server_close(self) -> None:
        """Close the server and end its processes."""
        super().server_close()
        self.pages.close()


class _Stream(BufferedReader):
    """What a client sends: the lines of a head, and a body."""

    _left = MOST_HEAD

    def readline(self, size: int | None = MOST_HEAD, /) -> bytes:
        """Return a line of the head. Raises LineTooLong where the head is too long."""
        line = super().readline(min(size or 0, self._left + 1))
        self._left -= len(line)
        if self._left < 0:
            raise LineTooLong("head")
        return line


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version, sys_version = "bomgen", ""
    timeout, rbufsize = MOST_PIECE_S, 0
    server: PageServer

    def setup(self) -> None:
        """Find the client of the connection."""
        super().setup()
        self.rfile: BufferedReader = _Stream(self.rfile)
        self._client = self.server.connections.of(self.connection)

    def finish(self) -> None:
        """Close the connection."""
        with suppress(OSError):
            super().finish()

    def do_GET(self) -> None:
        self._answer(self._file)

    def do_POST(self) -> None:
        self._answer(self._call)

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the address has the token."""

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Send an error about the head of a request."""
        self.close_connection = True
        told = explain or message or HTTPStatus(code).phrase
        self._send(code, _json(error_data("refused", told)), "application/json")

    def _answer(self, work: Any) -> None:
        self._client.allow(MOST_BODY_S)
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
        # Any page may navigate a window here, as the file that opens the page does; it cannot read the content.
        opens = self.command == "GET" and self.headers.get("Sec-Fetch-Dest") == "document"
        if is_foreign or (site not in ("none", "same-origin") and not opens):
            raise HttpError(HTTPStatus.FORBIDDEN, "origin", "requests of other pages are not answered")

    def _address(self) -> SplitResult:
        try:
            return urlsplit(self.path)
        except ValueError:
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "the address of the request cannot be read") from None

    def _has_token(self) -> bool:
        token = parse_qs(self._address().query).get("token", [""])[0]
        return secrets.compare_digest(token.encode(), self.server.token.encode())

    # files ----------------------------------------------------------------------------------------------------------

    def _file(self) -> None:
        path = self._address().path
        if path == "/":
            if not self._has_token():  # somebody opened a link, and reads this
                self._send(HTTPStatus.FORBIDDEN, f"bomgen: {WRONG_ADDRESS}\n".encode(), "text/plain; charset=utf-8")
                return
            self.server.shown.set()
            path = f"/{INDEX}"
        name = path.removeprefix("/")
        files = {
            path.relative_to(folder).as_posix(): path
            for folder in (PAGE, face_folder())
            for path in folder.rglob("*")
            if path.is_file()
        }
        if name not in files:
            raise HttpError(HTTPStatus.NOT_FOUND, "not-found", "there is no such file")
        kind = TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        text = kind.startswith("text/") or kind == TYPES[".svg"]
        self._send(HTTPStatus.OK, content(files[name]), f"{kind}; charset=utf-8" if text else kind)

    # calls ----------------------------------------------------------------------------------------------------------

    def _call(self) -> None:
        if not self._has_token():
            raise HttpError(HTTPStatus.FORBIDDEN, "token", WRONG_ADDRESS)
        self._client.known = True
        above, _, name = self._address().path.rpartition("/")
        if above != "/api" or (name not in CALLS and name not in OWN_CALLS):
            raise HttpError(HTTPStatus.NOT_FOUND, "not-found", "there is no such call")
        try:
            request = read_request(CALLS[name].fields if name in CALLS else OWN_CALLS[name][1], self._body())
        except Refused as error:
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", str(error)) from None
        page, turn = request.get("page") or "page", request.get("turn", 0)
        self._client.wait()
        if name in OWN_CALLS:
            self._send(HTTPStatus.OK, _json(_own_call(self.server, name, request, page)), "application/json")
            return
        answers = self.server.pages.call(page, name, request, turn, self._client.gone)
        if name == "download":
            self._download(answers)
        elif CALLS[name].long:
            self._stream(answers)
        else:
            [answer] = answers
            self._send(
                answer.get("status", HTTPStatus.OK),
                _json(answer.get("result", answer.get("error"))),
                "application/json",
            )

    def _body(self) -> Any:
        if self.headers.get_content_type() != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "type", "a request is application/json")
        length = self.headers.get("Content-Length", "")
        if self.headers.get("Transfer-Encoding") or not length.isascii() or not length.isdecimal():
            raise HttpError(HTTPStatus.LENGTH_REQUIRED, "length", "a request needs a Content-Length")
        if len(length) > len(str(MOST_BODY)) or int(length) > MOST_BODY:
            raise HttpError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "too-large", f"over {MOST_BODY} bytes")
        try:
            content = self.rfile.read(int(length))
            if len(content) < int(length):
                raise HttpError(HTTPStatus.REQUEST_TIMEOUT, "refused", "the request ended early")
            data = json.loads(content.decode("utf-8"))
            # NaN is no JSON, and half of a surrogate pair is no text
            json.dumps(data, ensure_ascii=False, allow_nan=False).encode()
        except (ValueError, RecursionError):
            raise HttpError(HTTPStatus.BAD_REQUEST, "refused", "the request is not JSON") from None
        return data

    def _download(self, answers: Generator[Data, None, None]) -> None:
        *_, answer = answers
        if "result" not in answer:
            raise HttpError(answer["status"], **answer["error"])
        result = answer["result"]
        name = json.dumps(result["name"])
        body = b64decode(result["base64"])
        self._send(HTTPStatus.OK, body, result["type"], {"Content-Disposition": f"attachment; filename={name}"})

    def _stream(self, answers: Generator[Data, None, None]) -> None:
        first = next(answers)
        try:
            self._start(first.get("status", HTTPStatus.OK), "application/x-ndjson", {})
            self._write(_line(first))
            for answer in answers:
                self._write(_line(answer))
        finally:
            answers.close()  # the call is then stopped

    def _send(self, status: int, body: bytes, kind: str, more: Mapping[str, str] | None = None) -> None:
        self._start(status, kind, {"Content-Length": str(len(body)), **(more or {})})
        self._write(body)
        with suppress(OSError):  # what was not read of a refused body would reset the connection
            self.connection.shutdown(socket.SHUT_WR)

    def _write(self, content: bytes) -> None:
        """Send content; what is sent at once must be taken in time as a whole."""
        for start in range(0, len(content), PIECE):
            self.wfile.write(content[start : start + PIECE])

    def _start(self, status: int, kind: str, more: Mapping[str, str]) -> None:
        self.send_response(status)
        for header, value in {**HEADERS, "Content-Type": kind, **more}.items():
            self.send_header(header, value)
        self.end_headers()


def _json(data: Any) -> bytes:
    return json.dumps(data, ensure_ascii=False).encode("utf-8", "replace")  # names of files may be no text


def _line(answer: Data) -> bytes:
    return _json(answer if "progress" in answer else answer.get("result", answer.get("error"))) + b"\n"


# calls that need no process -----------------------------------------------------------------------------------------


def _own_call(server: PageServer, name: str, request: Data, page: str) -> Data:
    answer, _ = OWN_CALLS[name]
    try:
        return answer(server, request, page)
    except Refused as error:
        raise HttpError(HTTPStatus.BAD_REQUEST, "refused", error.said(request)) from None
    except FileChanged as changed:
        message = "the file has changed on disk since it was read"
        raise HttpError(HTTPStatus.CONFLICT, "changed", message, text=changed.text, version=changed.version) from None
    except (OSError, OutputError) as error:
        message = (isinstance(error, OSError) and error.strerror) or str(error)
        raise HttpError(HTTPStatus.BAD_REQUEST, "failed", message) from None


def _files(server: PageServer, _request: Data, _page: str) -> Data:
    (plans, whole), root = server.workspace.plans(), str(server.workspace.folder)
    return {"root": root, "opened": server.opened, "plans": plans, "whole": whole, "gallery": gallery()}


def _open(server: PageServer, request: Data, _page: str) -> Data:
    if "gallery" in request:
        return open_design(request["gallery"])
    if "packed" in request:
        return {"path": "shared.yaml", "text": unpack(request["packed"]), "version": NO_VERSION}
    if "path" not in request:
        raise Refused("`path`, `gallery` or `packed` must be text")
    text, version = server.workspace.read(path := request["path"])
    return {"path": path, "text": text, "version": version}


def _save(server: PageServer, request: Data, _page: str) -> Data:
    return {"version": server.workspace.save(request["path"], request["text"], request["version"])}


def _leave(server: PageServer, _request: Data, page: str) -> Data:
    server.pages.leave(page)
    return {}


def _stop(server: PageServer, _request: Data, page: str) -> Data:
    server.pages.stop(page)
    return {}


OWN_CALLS: Mapping[str, tuple[Callable[[PageServer, Data, str], Data], Mapping[str, Any]]] = {
    "files": (_files, {}),
    "open": (_open, {"path?": str, "gallery?": str, "packed?": str}),
    "save": (_save, {**PLAN, "version": str}),
    "stop": (_stop, {}),
    "leave": (_leave, {}),
}
"""The function of each such call, and the kinds of the fields of its request."""
