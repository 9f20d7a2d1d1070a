"""The server of the page: what it answers, and to whom."""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from depth import few

from bomgen.core.jobs import start_python
from bomgen.serve import pages
from bomgen.serve import server as server_module
from bomgen.serve.calls import Workspace
from bomgen.serve.server import MOST_BODY, MOST_CONNECTIONS, MOST_HEAD_S, PageServer

PLAN = "bomgen: 1\nname: small\ncluster: {gpu: h100-sxm, servers: 4}\nfabrics: {compute: default}\n"
LONG = PLAN.replace("servers: 4", "servers: 2048")
BREAKING = """
from bomgen.serve import engine, pages

def check(*_):
    raise ZeroDivisionError("none")

def main():
    engine.check = check
    pages.main()
"""
"""The process of a page, in which a call has an error that nobody foresaw."""
ALTERED = """
import os
from contextlib import suppress
from importlib import import_module
from time import sleep
from bomgen.serve.calls import CALLS
from bomgen.serve.pages import main

kept = []

def altered(function):
    def call(workspace, request):
        text = request.get("text", "")
        for _ in range(600 * ("# sleep" in text)):
            try:
                sleep(0.1)
            except KeyboardInterrupt:
                if "deeply" not in text:
                    raise
        if "# end" in text:
            os._exit(1)
        if "# keep" in text:
            with suppress(MemoryError):
                while True:
                    kept.append(bytearray(1 << 24))
            del kept[-3:]
        found = function(workspace, request)
        return {**found, "more": "x" * (1 << 25)} if "# large" in text else found
    return call

for call in CALLS.values():
    module = import_module(f"bomgen.serve.{call.module}")
    setattr(module, call.name, altered(getattr(module, call.name)))
"""
"""The process of a page, in which a comment lets a call take a minute, fill the memory, answer with 32 MB, or end."""
SOON_S = 20
"""Seconds in which a page goes on: two on an idle machine, for the look after clients, the end and a new process."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PageServer]:
    """Return a server of a folder with one plan."""
    folder = tmp_path_factory.mktemp("plans")
    (folder / "small.yaml").write_text(PLAN, "utf-8")
    served = PageServer(Workspace(folder))
    thread = Thread(target=served.serve_forever, daemon=True)
    thread.start()
    yield served
    served.shutdown()
    served.server_close()


def send(
    server: PageServer,
    path: str,
    body: Any = None,
    token: str | None = None,
    method: str | None = None,
    **headers: str,
) -> tuple[int, bytes, http.client.HTTPMessage]:
    """Send a request and return status, body and headers of its answer."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=120)
    content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json"} if content is not None else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(
        method or ("GET" if content is None else "POST"),
        f"{path}?token={server.token if token is None else token}",
        content,
        sent,
    )
    answer = connection.getresponse()
    found = answer.status, answer.read(), answer.headers
    connection.close()
    return found


def call(server: PageServer, name: str, **request: Any) -> tuple[int, Any]:
    """Call the engine and return status and answer."""
    status, body, _ = send(server, f"/api/{name}", request)
    return status, json.loads(body.splitlines()[-1])


def wait_until(holds: Callable[[], bool]) -> None:
    """Wait until something holds; the test fails if it does not in the time that a page has."""
    end = monotonic() + SOON_S
    while not holds():
        assert monotonic() < end
        sleep(0.05)


def test_the_calls_of_a_page_are_answered(server: PageServer) -> None:
    """Files are listed, opened, checked, built and saved."""
    status, files = call(server, "files")
    assert (status, [plan["path"] for plan in files["plans"]]) == (200, ["small.yaml"])
    assert "llama65b" in {design["name"] for design in files["gallery"]}
    _, opened = call(server, "open", path="small.yaml")
    assert opened["text"] == PLAN
    assert call(server, "check", path="small.yaml", text=PLAN)[0] == 200
    status, built = call(server, "build", path="small.yaml", text=PLAN, base=PLAN, tabs=["quote"])
    assert (status, "<html" in built["tabs"]["quote"]) == (200, True)
    text = f"{PLAN}# saved\n"
    _, saved = call(server, "save", path="small.yaml", text=text, version=opened["version"])
    assert (server.workspace.folder / "small.yaml").read_text("utf-8") == text
    status, changed = call(server, "save", path="small.yaml", text=PLAN, version=opened["version"])
    assert (status, changed["error"], changed["text"], changed["version"]) == (409, "changed", text, saved["version"])
    assert call(server, "open", gallery="llama65b")[1]["path"] == "my-llama65b.yaml"


def test_a_file_is_downloaded(server: PageServer) -> None:
    """The answer of `download` is the file itself."""
    status, body, headers = send(server, "/api/download", {"path": "a.yaml", "text": PLAN, "format": "quote.xlsx"})
    assert (status, body[:2]) == (200, b"PK")
    assert headers["Content-Disposition"] == 'attachment; filename="quote.xlsx"'


def test_two_pages_do_not_disturb_each_other(server: PageServer) -> None:
    """A turn of one page ends no call of another."""
    with ThreadPoolExecutor() as threads:
        calls = [
            threads.submit(call, server, "build", path="a.yaml", text=PLAN, tabs=["report"], page=page, turn=turn)
            for turn, page in enumerate("abab", 1)
        ]
        pages: dict[str, list[int]] = {"a": [], "b": []}
        for page, found in zip("abab", calls, strict=True):
            pages[page].append(found.result()[0])
    assert all(200 in found for found in pages.values())


def test_a_newer_turn_ends_the_older(server: PageServer) -> None:
    """The older build is cancelled, the newer answered in the time that it takes by itself."""
    with ThreadPoolExecutor() as threads:
        request = {"path": "a.yaml", "page": "turns"}
        begun = monotonic()
        call(server, "build", **request, text=PLAN, tabs=["quote"], turn=1)
        alone = monotonic() - begun
        older = threads.submit(call, server, "build", **request, text=LONG, tabs=["report", "cables"], turn=2)
        sleep(0.1)
        begun = monotonic()
        newer = call(server, "build", **request, text=PLAN, tabs=["quote"], turn=3)
        assert newer[0] == 200
        assert monotonic() - begun < max(5, 3 * alone)
        status, answer = older.result()
        assert (status, answer.get("error")) == (499, "cancelled"), str(answer)[:500]
        assert call(server, "build", **request, text=PLAN, turn=2)[0] == 499


def test_turns_that_follow_each_other_at_once(server: PageServer) -> None:
    """Whoever types while the process starts loses older builds only: no process is ended, the last one is answered."""
    with ThreadPoolExecutor() as threads:
        calls = []
        for turn in range(1, 30):
            request = {"path": "a.yaml", "text": PLAN, "tabs": ["report"], "page": "typing", "turn": turn}
            calls.append(threads.submit(call, server, "build", **request))
            sleep(0.05)
        found = [each.result()[0] for each in calls]
    assert {*found[:-1]} <= {200, 499}
    assert found[-1] == 200


# security -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("token", ["", "x", "A" * 32, "é"])
def test_a_missing_or_wrong_token_is_refused(server: PageServer, token: str) -> None:
    """Neither the page nor a call is answered without the token; whoever opens a link is told what to do."""
    token = token.encode("ascii", "ignore").decode()
    status, said, headers = send(server, "/", token=token)
    assert (status, headers["Content-Type"]) == (403, "text/plain; charset=utf-8")
    assert b"open a link with a plan there" in said
    assert send(server, "/api/files", {}, token=token)[0] == 403


BROWSER = """
import json, os, pathlib, re, sys, urllib.parse, urllib.request
leading = pathlib.Path(urllib.request.url2pathname(urllib.parse.urlsplit(sys.argv[1]).path))
address = re.search('url=([^"]+)', leading.read_text())[1]
with urllib.request.urlopen(address, timeout=30) as answer:
    seen = {"arguments": sys.argv[1:], "mode": leading.stat().st_mode & 0o777, "page": answer.read().decode()}
pathlib.Path(sys.argv[0] + ".json").write_text(json.dumps(seen | {"address": address}))
"""
"""A browser that opens the page and ends afterwards, as one in a terminal does."""


@contextmanager
def opened_in(browser: str, home: Path) -> Iterator[str]:
    """Run the command with a browser and a home folder; yield the address that it prints."""
    environment = os.environ | {"BROWSER": browser, "HOME": str(home)}
    command = [sys.executable, "-m", "bomgen", "serve", str(home)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as served:
        try:
            yield served.stdout.readline().strip() if served.stdout else ""
        finally:
            served.terminate()


def test_the_browser_is_led_to_the_page_by_a_file(tmp_path: Path) -> None:
    """The server answers one that runs in the foreground; its arguments lead no other user to the page."""
    browser, told = tmp_path / "browser.py", tmp_path / "browser.py.json"
    browser.write_text(BROWSER, "utf-8")
    with opened_in(f"{sys.executable} {browser} %s", tmp_path) as address:
        wait_until(lambda: told.exists() and not list(tmp_path.glob("*.html")))
    seen = json.loads(told.read_text("utf-8"))
    assert (seen["address"], seen["mode"]) == (address, 0o600)
    assert parse_qs(urlsplit(address).query)["token"][0] not in " ".join(seen["arguments"])
    assert "<title>bomgen" in seen["page"]


def test_a_browser_that_never_comes_leaves_no_file(tmp_path: Path) -> None:
    """The file that leads to the page ends with the server."""
    with opened_in("true %s", tmp_path):
        wait_until(lambda: list(tmp_path.glob("*.html")) != [])
    assert list(tmp_path.glob("*.html")) == []


def test_only_a_window_is_led_to_the_page_from_elsewhere(server: PageServer) -> None:
    """A file of this machine may open the page; a frame, a script and a form of another page may not."""
    assert send(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document")[0] == 200
    assert send(server, "/", token="", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document")[0] == 403
    for dest in ("iframe", "script", "empty"):
        assert send(server, "/", Sec_Fetch_Site="cross-site", Sec_Fetch_Dest=dest)[0] == 403
    assert send(server, "/api/files", {}, Sec_Fetch_Site="cross-site", Sec_Fetch_Dest="document")[0] == 403


def test_a_page_that_is_closed_takes_its_processes_with_it(server: PageServer) -> None:
    """Both of its processes end, also while a call goes on; those of other pages stay, and it may come back."""
    for page in ("stays", "leaves"):
        call(server, "check", path="a.yaml", text=PLAN, page=page)
        call(server, "share", path="a.yaml", text=PLAN, page=page)
    lanes = {key: lane for key, lane in server.pages._lanes.items() if key[0] in ("stays", "leaves")}
    children = {key: lane._child for key, lane in lanes.items() if lane._child}
    assert len(children) == 4
    assert call(server, "leave", page="leaves") == (200, {})
    wait_until(lambda: all(children["leaves", long].poll() is not None for long in (False, True)))
    assert [children["stays", long].poll() for long in (False, True)] == [None, None]
    assert call(server, "check", path="a.yaml", text=PLAN, page="leaves")[0] == 200
    call(server, "leave", page="leaves")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", "http://127.0.0.1:1"])
def test_another_origin_is_refused(server: PageServer, origin: str) -> None:
    """Another page in the same browser gets no answer, not even with the token."""
    assert send(server, "/api/files", {}, Origin=origin)[0] == 403
    assert send(server, "/", Origin=origin)[0] == 403
    assert send(server, "/api/files", {}, Sec_Fetch_Site="cross-site")[0] == 403


def test_the_own_origin_is_answered(server: PageServer) -> None:
    """The page itself is answered."""
    for host in ("127.0.0.1", "localhost"):
        own = f"{host}:{server.server_port}"
        assert send(server, "/api/files", {}, Origin=f"http://{own}", Host=own, Sec_Fetch_Site="same-origin")[0] == 200


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil.example:80", ""])
def test_another_host_is_refused(server: PageServer, host: str) -> None:
    """A name that leads to this machine by DNS rebinding gets no answer."""
    assert send(server, "/api/files", {}, Host=host)[0] == 403
    assert send(server, "/", Host=host)[0] == 403


@pytest.mark.parametrize(
    "path",
    ["/../server.py", "/..%2fserver.py", "/page.py", "//etc/passwd", "/index.html/../../engine.py", "/.", "/api"],
)
def test_only_files_of_the_page_are_sent(server: PageServer, path: str) -> None:
    """A path outside is not found."""
    assert send(server, path)[0] == 404


@pytest.mark.parametrize("path", ["../x.yaml", "/etc/hostname", "a/../../x.yaml", ".git/config", "\0.yaml", 7, None])
def test_a_plan_outside_the_folder_is_refused(server: PageServer, path: Any) -> None:
    """Neither read, nor written, nor built."""
    for name, more in (("open", {}), ("save", {"text": PLAN, "version": ""}), ("build", {"text": PLAN})):
        assert call(server, name, path=path, **more)[0] == 400


@pytest.mark.parametrize("path", ["link.yaml", "folder/x.yaml", "dangling.yaml"])
def test_a_link_leads_to_no_plan_outside(server: PageServer, tmp_path: Path, path: str) -> None:
    """A link to a file or a folder outside, or to nothing there, is neither read nor written nor listed."""
    folder, outside = server.workspace.folder, tmp_path / "x.yaml"
    outside.write_text(PLAN, "utf-8")
    links = {"link.yaml": outside, "folder": tmp_path, "dangling.yaml": tmp_path / "none.yaml"}
    for name, target in links.items():
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)
    version = sha256(outside.read_bytes()).hexdigest()
    for name, more in (("open", {}), ("save", {"text": "x", "version": version}), ("build", {"text": PLAN})):
        assert call(server, name, path=path, **more)[0] == 400
    assert call(server, "save", path=path, text="x", version="")[0] == 400
    assert [plan["path"] for plan in call(server, "files")[1]["plans"]] == ["small.yaml"]
    assert (outside.read_text("utf-8"), (tmp_path / "none.yaml").exists()) == (PLAN, False)
    for name in links:
        (folder / name).unlink()


def test_a_link_that_appears_while_a_plan_is_saved(server: PageServer, tmp_path: Path) -> None:
    """A file that became a link after it was opened is not written through."""
    outside = tmp_path / "x.yaml"
    outside.write_text(PLAN, "utf-8")
    place = server.workspace.folder / "changing.yaml"
    place.write_text(PLAN, "utf-8")
    version = call(server, "open", path="changing.yaml")[1]["version"]
    place.unlink()
    place.symlink_to(outside)
    assert call(server, "save", path="changing.yaml", text="x", version=version)[0] == 400
    assert outside.read_text("utf-8") == PLAN
    place.unlink()


def test_a_plan_names_no_file_outside(server: PageServer, tmp_path: Path) -> None:
    """A price book above the folder is refused as by the command."""
    (tmp_path / "book.yaml").write_text("secret", "utf-8")
    text = f"{PLAN}quote: {{price_book: {tmp_path / 'book.yaml'}}}\n"
    _, found = call(server, "build", path="a.yaml", text=text)
    assert [problem["rule"] for problem in found["problems"]] == ["outside-root"]
    assert "secret" not in json.dumps(found)


def test_a_request_that_is_not_json_is_refused(server: PageServer) -> None:
    """A form of another page can send no JSON."""
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert send(server, "/api/files", b"{}", Content_Type=kind)[0] == 415
    for body in (b"", b"[]", b"{", b"\xff", b"[" * 10**5, b'{"page": 1}', b'{"turn": -1}', b'{"turn": true}'):
        assert send(server, "/api/files", body)[0] == 400
    assert send(server, "/api/unknown", {})[0] == 404
    status, _, headers = send(server, "/api/files", method="PUT")
    assert (status, headers["Content-Type"]) == (501, "application/json")


def test_a_large_body_is_refused(server: PageServer) -> None:
    """A body beyond the limit is refused before it is read; one within the limit is answered."""
    with socket.create_connection(("127.0.0.1", server.server_port), 30) as connection:
        head = f"POST /api/check?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
        head += f"Content-Type: application/json\r\nContent-Length: {MOST_BODY + 1}\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 413 " in connection.recv(4096)
    assert call(server, "check", path="a.yaml", text="#" * (MOST_BODY - 100))[0] == 200
    assert send(server, "/api/check", b"", Content_Length="1e3")[0] == 411


def test_many_requests_at_once(server: PageServer) -> None:
    """All of 200 requests at once are answered or told to wait, and the server goes on."""
    with ThreadPoolExecutor(200) as threads:
        found = [
            *threads.map(lambda at: call(server, "check", path="a.yaml", text=PLAN, page=f"p{at % 3}")[0], range(200))
        ]
    assert {*found} <= {200, 429}
    assert found.count(200) > 20
    assert call(server, "check", path="a.yaml", text=PLAN)[0] == 200


def test_clients_that_hang_keep_nobody_out(server: PageServer) -> None:
    """Half a request a client, by more clients than there are places: others are answered as if there were none."""
    head = f"POST /api/check?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    for text in ("", head, f"GET /editor.js HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n"):
        with ExitStack() as stack:
            for _ in range(MOST_CONNECTIONS + 50):
                stack.enter_context(socket.create_connection(server.server_address, 30)).sendall(text.encode())
            begun = monotonic()
            for _ in range(5):
                assert call(server, "check", path="a.yaml", text=PLAN)[0] == 200
            assert monotonic() - begun < MOST_HEAD_S


def test_a_client_that_sends_byte_by_byte_is_left(server: PageServer) -> None:
    """The head of a request must be there in time, however often something of it comes."""
    with socket.create_connection(server.server_address, 30) as connection:
        connection.sendall(b"POST /api/check HTTP/1.1\r\nX: ")
        begun = monotonic()
        with suppress(OSError):
            while monotonic() - begun < 2 * MOST_HEAD_S:
                connection.sendall(b"x")
                sleep(0.2)
        assert monotonic() - begun < 2 * MOST_HEAD_S


def test_connections_beyond_the_most_are_closed(server: PageServer) -> None:
    """The oldest one that has not shown the token makes room; where all have, there is no room."""
    head = f"POST /api/check?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n"
    with ExitStack() as stack:

        def connect() -> socket.socket:
            return stack.enter_context(socket.create_connection(server.server_address, 30))

        stranger = connect()
        for _ in range(MOST_CONNECTIONS - 1):
            connect().sendall(head.encode())
        sleep(0.5)
        last = connect()
        assert stranger.recv(1) == b""
        last.sendall(head.encode())
        sleep(0.5)
        assert connect().recv(1) == b""
    sleep(0.5)
    assert call(server, "check", path="a.yaml", text=PLAN)[0] == 200


@pytest.mark.parametrize("head", ["GET / HTTP/1.1\r\n" + f"X: {'x' * 1000}\r\n" * 90, "GET /" + "x" * 90_000])
def test_a_long_head_is_not_read(server: PageServer, head: str) -> None:
    """Whoever connects, without a token, takes no more memory than a head needs."""
    with socket.create_connection(server.server_address, 30) as connection, suppress(OSError):
        connection.sendall(head.encode())
        answer = connection.recv(4096)
        assert answer == b"" or b" 431 " in answer
    assert call(server, "check", path="a.yaml", text=PLAN)[0] == 200


@pytest.mark.parametrize(
    "request_line",
    [
        *(b"\0" * 1000, b"GET", b"GET /", b"GET / HTTP/9.9", b"GET / HTTP/0.9", b"PRI * HTTP/2.0", b"\x16\x03\x01\x02"),
        *(
            b"OPTIONS * HTTP/1.1",
            b"TRACE / HTTP/1.1",
            b"CONNECT a:1 HTTP/1.1",
            b"HEAD / HTTP/1.1",
            b"<b>x</b> / HTTP/1.1",
        ),
        *(b"GET http://127.0.0.1/ HTTP/1.1", b"GET //[::1 HTTP/1.1", b"POST /api/check?token=%ff%00&token HTTP/1.1"),
    ],
)
def test_what_is_no_request_is_refused(server: PageServer, request_line: bytes) -> None:
    """Whatever is sent in place of a request gets an error in JSON, a sentence about the token, or nothing."""
    with socket.create_connection(server.server_address, 30) as connection:
        connection.sendall(request_line + f"\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode())
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with suppress(ConnectionError):
            while part := connection.recv(4096):
                answer += part
    head, _, body = answer.rpartition(b"\r\n\r\n")
    assert b"html" not in head
    assert not answer or body.startswith(b"bomgen: the token is missing") or "error" in json.loads(body)


def test_a_large_answer_may_be_taken_slowly(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each piece has its time, as over a forwarded port; whoever takes nothing is left."""
    monkeypatch.setattr(server_module, "PIECE", 10**5)
    monkeypatch.setattr(server_module._Handler, "timeout", 1)
    monkeypatch.setattr(server_module, "_own_call", lambda *_: {"text": "x" * 10**7})
    head = f"POST /api/files?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    head += "Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"
    sizes = []
    for pause in (0.02, 2):
        with socket.create_connection(server.server_address, 30) as connection:
            connection.sendall(head.encode())
            sleep(pause)
            taken = 0
            while part := connection.recv(10**5):
                taken += len(part)
                sleep(min(pause, 0.02))
            sizes.append(taken)
    assert sizes[0] > 10**7 > sizes[1]


def test_a_body_that_comes_byte_by_byte_is_left(server: PageServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """The body of a request must be there in time as a whole; the token gives no more of it."""
    monkeypatch.setattr(server_module, "MOST_BODY_S", 1)
    head = f"POST /api/check?token={server.token} HTTP/1.1\r\nHost: 127.0.0.1:{server.server_port}\r\n"
    head += f"Content-Type: application/json\r\nContent-Length: {MOST_BODY}\r\n\r\n"
    with socket.create_connection(server.server_address, 30) as connection:
        connection.sendall(head.encode())
        begun = monotonic()
        with suppress(OSError):
            while monotonic() - begun < MOST_HEAD_S:
                connection.sendall(b" ")
                sleep(0.1)
        assert monotonic() - begun < MOST_HEAD_S


@pytest.fixture
def altered(server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the processes of new pages do what a comment in a plan says; another page takes the one that is ready."""
    assert call(server, "check", path="a.yaml", text=PLAN, page="first")[0] == 200
    (tmp_path / "altered.py").write_text(ALTERED, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(pages, "start_python", lambda _, *rest, **more: start_python("altered", *rest, **more))


def leave(server: PageServer, name: str, **request: Any) -> None:
    """Send a call and leave before it is answered."""
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=30)
    body = json.dumps(request)
    connection.request("POST", f"/api/{name}?token={server.token}", body, {"Content-Type": "application/json"})
    sleep(0.2)
    connection.close()


@pytest.mark.usefixtures("altered")
@pytest.mark.parametrize("sleep", ["# sleep", "# sleep deeply"])
@pytest.mark.parametrize("name", few(["check", "download", "search"], 2))
def test_a_call_ends_when_its_client_leaves(server: PageServer, name: str, sleep: str) -> None:
    """The next call of the page does not wait for what nobody asks for any more."""
    request: dict[str, Any] = {"path": "a.yaml", "text": PLAN, "page": f"{name} {sleep}", "format": "json"}
    request |= {"over": {"cluster.servers": [2]}, "minimise": ["power"]}
    assert send(server, f"/api/{name}", request)[0] == 200
    for _ in range(2):  # the second one waits for the first
        leave(server, name, **(request | {"text": PLAN + sleep}))
    begun = monotonic()
    assert send(server, f"/api/{name}", request)[0] == 200
    assert monotonic() - begun < SOON_S


@pytest.mark.usefixtures("altered")
def test_a_process_whose_call_was_interrupted_goes_on(server: PageServer) -> None:
    """Only a process that does not end its call is replaced."""
    request = {"path": "a.yaml", "page": "goes on"}
    assert call(server, "check", **request, text=PLAN)[0] == 200
    child = server.pages._lane("goes on", False)._child
    for _ in range(2):
        leave(server, "check", **request, text=f"{PLAN}# sleep")
        sleep(2)  # beyond the patience
        assert call(server, "check", **request, text=PLAN)[0] == 200
    assert server.pages._lane("goes on", False)._child is child


@pytest.mark.usefixtures("altered")
def test_a_newer_turn_ends_a_call_without_one(server: PageServer) -> None:
    """A report that takes long is not waited for; whoever asked for it is told."""
    with ThreadPoolExecutor() as threads:
        request = {"path": "a.yaml", "page": "without turn"}
        assert call(server, "share", **request, text=PLAN)[0] == 200
        older = threads.submit(call, server, "share", **request, text=f"{PLAN}# sleep")
        sleep(0.2)
        begun = monotonic()
        assert call(server, "share", **request, text=PLAN, turn=1)[0] == 200
        assert monotonic() - begun < SOON_S
        assert older.result()[1]["error"] == "cancelled"


@pytest.mark.usefixtures("altered")
def test_a_call_beyond_the_memory_is_an_error(server: PageServer) -> None:
    """It has a new process before it is refused, and so has the next one, whatever is left in the memory."""
    request = {"path": "a.yaml", "page": "memory"}
    assert call(server, "check", **request, text=f"{PLAN}# keep")[0] == 200
    assert call(server, "check", **request, text=f"{PLAN}# large")[0] == 200
    status, answer = call(server, "check", **request, text=f"{PLAN}# keep # large")
    assert (status, answer["error"]) == (422, "out-of-memory")
    assert call(server, "check", **request, text=PLAN)[0] == 200


def test_a_folder_whose_name_is_no_text(tmp_path: Path) -> None:
    """Such a folder is served, its name shown as far as it is text."""
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    folder.mkdir()
    (folder / "small.yaml").write_text(PLAN, "utf-8")
    served = PageServer(Workspace(folder))
    Thread(target=served.serve_forever, daemon=True).start()
    try:
        status, found = call(served, "files")
        assert (status, found["root"][-1], len(found["plans"])) == (200, "?", 1)
        assert call(served, "check", path="small.yaml", text=PLAN) == (200, {"problems": []})
    finally:
        served.shutdown()
        served.server_close()


@pytest.mark.usefixtures("altered")
def test_a_call_that_ends_its_process_is_an_error(server: PageServer) -> None:
    """It has two processes, and another error than a server that does not answer; the next call has a new process."""
    request = {"path": "a.yaml", "page": "ends"}
    status, answer = call(server, "check", **request, text=f"{PLAN}# end")
    assert (status, answer["error"]) == (500, "ended")
    assert call(server, "check", **request, text=PLAN)[0] == 200


def test_a_process_that_ends_is_replaced(server: PageServer) -> None:
    """A call after the end of its process has a new one."""
    request = {"path": "a.yaml", "text": PLAN, "page": "killed"}
    assert call(server, "check", **request)[0] == 200
    server.pages._lane("killed", False)._kill()
    sleep(0.2)
    assert call(server, "check", **request)[0] == 200


def test_an_error_of_bomgen_is_told(server: PageServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A call that ends its process is tried once more, and then says why; the next one has a new process."""
    (tmp_path / "breaking.py").write_text(BREAKING, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(pages, "start_python", lambda _, *rest, **more: start_python("breaking", *rest, **more))
    request = {"path": "a.yaml", "text": PLAN, "page": "broken"}
    status, answer = call(server, "check", **request)
    assert (status, answer["error"], answer["message"]) == (500, "internal", "internal error: ZeroDivisionError: none")
    monkeypatch.undo()
    assert call(server, "check", **request)[0] == 200


def test_the_page_may_load_nothing_from_elsewhere(server: PageServer) -> None:
    """Every answer has the policy, errors included."""
    for path, body in (("/", None), ("/none", None), ("/api/files", {})):
        headers = send(server, path, body)[2]
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'; script-src 'self';" in policy
        assert "http" not in policy
        assert (headers["Referrer-Policy"], headers["X-Content-Type-Options"]) == ("no-referrer", "nosniff")
        assert headers.get("Access-Control-Allow-Origin") is None


def test_the_face_has_one_address(server: PageServer) -> None:
    """The page and the documents in its frame load the two fonts from the server, and no document carries them."""
    status, content, headers = send(server, "/inter-400.woff2")
    assert (status, headers["Content-Type"], content[:4]) == (200, "font/woff2", b"wOF2")
    style = send(server, "/style.css")[1].decode()
    shown = call(server, "build", path="small.yaml", text=PLAN, base=PLAN, tabs=["quote"])[1]["tabs"]["quote"]
    for text in (style, shown):
        assert {"inter-400.woff2", "inter-600.woff2"} == {*re.findall(r'url\("?(inter[^")]*)', text)}
    assert "data:font" not in shown


def test_progress_comes_as_lines(server: PageServer) -> None:
    """The last line of a long call is its answer; a stop without a call does nothing."""
    request: dict[str, Any] = {"path": "a.yaml", "text": PLAN, "page": "search", "minimise": "power"}
    request |= {"over": {"cluster.servers": [2, 4, 8]}}
    status, body, _ = send(server, "/api/search", request)
    *progress, answer = [json.loads(line) for line in body.splitlines()]
    assert status == 200
    assert progress
    assert all([*line] == ["progress"] for line in progress)
    assert answer["points"]
    assert call(server, "stop", page="search") == (200, {})
