"""`bomgen push netbox` against a NetBox: the recorded one of `netbox_server`, or that of the variable NETBOX_URL."""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import cached_property
from http.server import BaseHTTPRequestHandler
from ipaddress import ip_address
from pathlib import Path
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from click.testing import CliRunner, Result
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from netbox_server import ANSWERS, TOKEN, RecordedNetBox, serve

from bomgen.cli.command import main
from bomgen.output.netbox_push import AT_ONCE, CABLES, Server, read_kinds

KINDS = read_kinds()

PLAN = """bomgen: 1
name: {name}
cluster: {{gpu: h100-sxm, servers: 4}}
fabrics: {{compute: {{switch: qm9700}}, in_band: {{switch: sn4600c, ports_per_server: 2, link: 100G}}}}
site: {{rack: {{power: 44 kW}}, layout: auto}}
"""
GROWN = ("--set", "cluster.servers=6")


class Pushed:
    """A NetBox, and a plan of its own that the command pushes to it."""

    def __init__(self, url: str, token: str, folder: Path) -> None:
        self.url, self.token, self.folder = url, token, folder
        self.name = f"hall-{uuid4().hex[:8]}"
        self.plan = folder / "plan.yaml"
        self.plan.write_text(PLAN.format(name=self.name), "utf-8")
        (folder / "token").write_text(f"{token}\n", "utf-8")

    def push(self, *options: str, plan: str = "plan.yaml") -> Result:
        """Run the command."""
        command = ["push", "netbox", str(self.folder / plan), "--url", self.url]
        return CliRunner().invoke(main, [*command, "--token-file", str(self.folder / "token"), *options])

    @cached_property
    def server(self) -> Server:
        """The server, asked as the operators' programs do."""
        return Server(self.url, self.token)

    def things(self, table: str) -> list[dict[str, Any]]:
        """The objects of the plan in a table that has the tag."""
        return self.server.list_objects(KINDS[table].path, {"tag": f"bomgen-{self.name}"})

    def edit(self, table: str, thing: dict[str, Any], **fields: object) -> None:
        """Change an object as an operator does."""
        self.server.write("PATCH", KINDS[table].path, [{"id": thing["id"], **fields}])


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, str]]:
    """Address and token of the server."""
    if url := os.environ.get("NETBOX_URL"):
        yield url, os.environ["NETBOX_TOKEN"]
    else:
        with serve(RecordedNetBox()) as url:
            yield url, TOKEN


@pytest.fixture
def netbox(address: tuple[str, str], tmp_path: Path) -> Pushed:
    """The server, with the plan pushed to it."""
    netbox = Pushed(*address, tmp_path)
    outcome = netbox.push()
    assert outcome.exit_code == 0, outcome.stderr
    return netbox


def changes_of(outcome: Result) -> list[str]:
    """The changes that a push tells, without its summary."""
    assert outcome.exit_code == 0, outcome.stderr
    return [line for line in outcome.stdout.splitlines() if line[:1] in "+~-=!"]


def test_a_second_push_changes_nothing(netbox: Pushed) -> None:
    """Types with ports, places, lengths, labels and modules are there, and the second push finds them as they are."""
    assert netbox.push().stdout.splitlines()[-1] == "Nothing to change."
    assert netbox.push("--dry-run").stdout.splitlines()[-1] == "Nothing to change."
    devices = {thing["name"]: thing for thing in netbox.things("devices")}
    server = devices["server-01"]
    assert (server["status"]["value"], server["rack"]["name"], server["position"]) == ("planned", "1", 1.0)
    assert server["location"]["name"] == "hall"
    of_server = {"device_id": server["id"]}
    ports = {port["name"]: port for port in netbox.server.list_objects("dcim/interfaces", of_server)}
    assert ports["nic1"]["type"]["value"] == "infiniband-ndr-4x"
    assert ports["nic1"]["cable"] is not None
    modules = netbox.server.list_objects("dcim/modules", of_server)
    assert "nic1" in {module["module_bay"]["name"] for module in modules}
    supplies = netbox.server.list_objects("dcim/power-ports", of_server)
    assert [supply["name"] for supply in supplies] == [f"psu{number}" for number in range(1, 7)]
    assert {(supply["maximum_draw"], supply["allocated_draw"]) for supply in supplies} == {(2550, 1700)}
    cables = netbox.things(CABLES)
    assert len({cable["label"] for cable in cables}) == len(cables) == 40
    assert {cable["length_unit"]["value"] for cable in cables} == {"m"}
    assert all(cable["length"] > 0 for cable in cables)


def test_a_dry_run_writes_nothing_and_tells_the_same(address: tuple[str, str], tmp_path: Path) -> None:
    """What a dry run of a new site tells is what the push tells after it."""
    netbox = Pushed(*address, tmp_path)
    told = netbox.push("--dry-run").stdout
    assert netbox.server.list_objects("dcim/sites", {"slug": netbox.name}) == []
    assert netbox.push().stdout == told


def test_edits_of_operators_are_kept(netbox: Pushed) -> None:
    """Status, serial number and comments stay; what the plan decides is set again, and said."""
    device = next(thing for thing in netbox.things("devices") if thing["name"] == "server-02")
    netbox.edit("devices", device, status="active", serial="S1", comments="by hand")
    cable, wrong, *_ = netbox.things(CABLES)
    netbox.edit(CABLES, cable, status="connected", description="tested")
    netbox.edit(CABLES, wrong, length=99)
    assert changes_of(netbox.push()) == [f"~ cables: {wrong['label']} (length 99 -> {wrong['length']:g})"]
    device = next(thing for thing in netbox.things("devices") if thing["name"] == "server-02")
    assert (device["status"]["value"], device["serial"], device["comments"]) == ("active", "S1", "by hand")
    cable = next(thing for thing in netbox.things(CABLES) if thing["id"] == cable["id"])
    assert (cable["status"]["value"], cable["description"]) == ("connected", "tested")


def test_growth_adds_only_what_grows(netbox: Pushed) -> None:
    """Two servers more: they and their cables are new, nothing else changes, and the next push has nothing to do."""
    growth = (*GROWN, "--from", str(netbox.plan))
    told = changes_of(netbox.push(*growth))
    assert {line[0] for line in told} == {"+"}
    assert [line for line in told if line.startswith("+ devices")][:2] == [
        "+ devices: server-05",
        "+ devices: server-06",
    ]
    assert netbox.push(*growth).stdout.splitlines()[-1] == "Nothing to change."
    left = changes_of(netbox.push())
    assert {line[0] for line in left} == {"="}
    assert "= devices: server-05 (the plan no longer has it)" in left


def test_machines_change_places(netbox: Pushed) -> None:
    """Two machines that are in each other's units go back to their own."""
    first, second = sorted(
        netbox.things("devices"), key=lambda thing: str(thing["name"]) not in ("server-01", "server-02")
    )[:2]
    for thing in (first, second):
        netbox.edit("devices", thing, position=None)
    for thing, planned in ((first, second), (second, first)):
        netbox.edit("devices", thing, position=planned["position"])
    assert len(changes_of(netbox.push())) == 2
    assert netbox.push().stdout.splitlines()[-1] == "Nothing to change."


def test_cables_in_the_way(netbox: Pushed) -> None:
    """A planned cable of the plan with other ends is replaced; one that operators have plugged in stays, code 4."""
    cables = [cable for cable in netbox.things(CABLES) if cable["label"].startswith("compute-SL-")][:4]
    ends = [
        [(cable[side][0]["object_type"], cable[side][0]["object_id"]) for side in ("a_terminations", "b_terminations")]
        for cable in cables
    ]
    for cable in cables:
        netbox.server.write("DELETE", KINDS[CABLES].path, [{"id": cable["id"]}])

    def join(first: int, second: int, **fields: object) -> None:
        (a, _), (_, b) = ends[first], ends[second]
        sides = ([{"object_type": kind, "object_id": number}] for kind, number in (a, b))
        cable = dict(zip(("a_terminations", "b_terminations"), sides, strict=True)) | fields
        netbox.server.write("POST", KINDS[CABLES].path, [cable])

    tag = netbox.server.list_objects("extras/tags", {"slug": f"bomgen-{netbox.name}"})[0]["id"]
    join(0, 1, status="planned", tags=[tag], label="old")
    join(2, 3, status="connected", label="by hand")
    outcome = netbox.push()
    assert outcome.exit_code == 4
    lines = outcome.stdout.splitlines()
    assert "- cables: old" in lines
    assert "= cables: old (the plan no longer has it)" not in lines
    refused = [line for line in lines if line.startswith("!")]
    assert refused == [f"! cables: {cables[number]['label']} (by hand is in its port)" for number in (2, 3)]
    assert [line for line in lines if line.startswith("+ cables")] == [
        f"+ cables: {cable['label']}" for cable in cables[:2]
    ]


def test_what_is_verified_becomes_connected(netbox: Pushed) -> None:
    """`verify` finds a cable as planned: it is connected and its devices are active; what operators have set stays."""
    listed = netbox.folder / "cables.csv"
    assert CliRunner().invoke(main, ["wiring", str(netbox.plan), "-q", "-o", str(listed)]).exit_code == 0
    head, *rows = listed.read_text("utf-8").splitlines(keepends=True)
    (netbox.folder / "built.csv").write_text("".join([head, *(row for row in rows if "server-01" in row)]), "utf-8")
    work = netbox.folder / "work.csv"
    outcome = CliRunner().invoke(
        main, ["verify", str(netbox.plan), str(netbox.folder / "built.csv"), "-q", "-o", str(work)]
    )
    assert outcome.exit_code == 4, outcome.stderr  # those of the other servers are missing
    told = changes_of(netbox.push("--verified", str(work)))
    assert "~ devices: server-01 (status planned -> active)" in told
    status = {thing["name"]: thing["status"]["value"] for thing in netbox.things("devices")}
    assert (status["server-01"], status["server-02"]) == ("active", "planned")
    assert {cable["status"]["value"] for cable in netbox.things(CABLES)} == {"planned", "connected"}
    assert netbox.push("--verified", str(work)).stdout.splitlines()[-1] == "Nothing to change."
    refused = netbox.push("-q", "--verified", str(netbox.plan))
    assert (refused.exit_code, refused.stderr.count("no list of work; write it with `bomgen verify")) == (1, 1)
    assert netbox.push().stdout.splitlines()[-1] == "Nothing to change."


def test_prune_leaves_nothing_of_the_plan(netbox: Pushed) -> None:
    """All that was created is gone, with the tag; what is active stays, with what it needs, and is said."""
    netbox.server.write("POST", "dcim/racks", [{"site": netbox.things("sites")[0]["id"], "name": "of others"}])
    device = next(thing for thing in netbox.things("devices") if thing["name"] == "server-02")
    netbox.edit("devices", device, status="active")
    told = changes_of(netbox.push("--prune"))
    assert "= devices: server-02 (it is active)" in told
    assert [thing["name"] for thing in netbox.things("devices")] == ["server-02"]
    netbox.edit("devices", device, status="planned")
    assert "= sites: " in "".join(changes_of(netbox.push("--prune")))
    (rack,) = netbox.server.list_objects("dcim/racks", {"site_id": netbox.things("sites")[0]["id"]})
    netbox.server.write("DELETE", "dcim/racks", [{"id": rack["id"]}])
    netbox.push("--prune")
    assert netbox.server.list_objects("dcim/sites", {"slug": netbox.name}) == []
    assert netbox.server.list_objects("extras/tags", {"slug": f"bomgen-{netbox.name}"}) == []
    assert netbox.push("--prune").stdout.splitlines()[-1] == "Nothing to change."


@pytest.mark.parametrize("method", ["POST", "PATCH", "DELETE"])
def test_cables_go_over_several_connections(method: str) -> None:
    """Cables are written and deleted by requests that wait for each other, and returned in their order."""
    both = Barrier(2, timeout=10)

    def wait(handler: BaseHTTPRequestHandler) -> bool:
        size = int(handler.headers["Content-Length"])
        both.wait()
        said = b"" if method == "DELETE" else handler.rfile.read(size)
        return answering(204 if method == "DELETE" else 200, "application/json", said)(handler)

    cables = [{"id": number} for number in range(4 * AT_ONCE)]
    with serve(RecordedNetBox(), wait) as url:
        written = Server(url, TOKEN).write(method, KINDS[CABLES].path, cables)
    assert written == ([] if method == "DELETE" else cables)


def test_answers_have_the_recorded_form(netbox: Pushed) -> None:
    """Each object of the server has the fields of the recorded one, and its choices and references have their form."""
    for path, recorded in ANSWERS.items():
        (thing, *_) = netbox.server.list_objects(path, {})
        assert thing.keys() == recorded.keys(), path
        for name, value in recorded.items():
            if isinstance(value, dict) and isinstance(thing[name], dict):
                assert {"id", "value"} & value.keys() == {"id", "value"} & thing[name].keys(), (path, name)


# what is refused ----------------------------------------------------------------------------------------------------


def answering(status: int, form: str, body: bytes, **headers: str) -> Callable[[BaseHTTPRequestHandler], bool]:
    """A server that gives one answer to every request."""

    def answer(handler: BaseHTTPRequestHandler) -> bool:
        handler.send_response(status)
        for name, value in {"Content-Type": form, "Content-Length": str(len(body)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)
        return True

    return answer


REFUSALS = {
    "a wrong token": (lambda _: False, "refuses the token: Invalid v2 token"),
    "an error": (
        answering(500, "text/html", b"<h1>Server Error</h1>"),
        "answers 500 with text/html instead of JSON; give ",
    ),
    "a page": (
        answering(200, "text/html; charset=utf-8", b"<html>"),
        "answers 200 with text/html instead of JSON; give ",
    ),
    "a fault in JSON": (
        answering(500, "application/json", b'{"error": "division by zero"}'),
        "answers 500 at extras/tags: error: division by zero",
    ),
    "other JSON": (answering(200, "application/json", b"[]"), "answers extras/tags with no list of objects"),
    "a login": (
        answering(302, "text/html", b"", Location="https://sso.example.com/"),
        "leads to https://sso.example.com/; give the address that it leads to",
    ),
}


@pytest.mark.parametrize(("instead", "said"), REFUSALS.values(), ids=REFUSALS)
def test_refusals_are_one_line(instead: Callable[[BaseHTTPRequestHandler], bool], said: str, tmp_path: Path) -> None:
    """Whatever answers, the command ends with one line that says what to do, and exit code 3."""
    with serve(RecordedNetBox(), instead) as url:
        outcome = Pushed(url, "nbt_wrong.token", tmp_path).push("-q")
    assert outcome.exit_code == 3
    assert outcome.stderr.startswith(f"bomgen: not written: {url} {said}")
    assert outcome.stderr.count("\n") == 1


def test_a_certificate_is_checked(tmp_path: Path) -> None:
    """A certificate that nobody has signed is refused before the token is sent."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(1), now + timedelta(1))
    names = x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))])
    certificate = builder.add_extension(names, critical=False).sign(key, hashes.SHA256())
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    file = tmp_path / "both.pem"
    file.write_bytes(key.private_bytes(pem, form, serialization.NoEncryption()) + certificate.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    netbox = RecordedNetBox()
    with serve(netbox, context=context) as url:
        outcome = Pushed(url, TOKEN, tmp_path).push("-q")
    assert outcome.exit_code == 3
    assert "its certificate is refused: self-signed certificate; SSL_CERT_FILE names those to trust" in outcome.stderr
    assert netbox.requests == []


@pytest.mark.parametrize(
    ("url", "token", "code", "said"),
    [
        ("http://127.0.0.1:1", "x", 3, "http://127.0.0.1:1 cannot be reached: Connection refused"),
        ("netbox.example.com", "x", 2, "give the address as https://netbox.example.com"),
        ("https://user:word@netbox.example.com", "x", 2, "give the address as https://netbox.example.com"),
        ("https://netbox.example.com/\r\nX: y", "x", 2, "an address and a token are one word each, in ASCII"),
        ("https://netbox.example.com", "a b", 2, "an address and a token are one word each, in ASCII"),
    ],
)
def test_addresses_and_tokens(url: str, token: str, code: int, said: str, tmp_path: Path) -> None:
    """What is no address or no token is wrong usage; an address without a server is output that cannot be written."""
    outcome = Pushed(url, token, tmp_path).push("-q")
    assert (outcome.exit_code, outcome.stderr.count("Traceback")) == (code, 0)
    assert said in outcome.stderr
