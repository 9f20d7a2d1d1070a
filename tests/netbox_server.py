"""A NetBox for tests: its REST API as far as `bomgen push netbox` asks it, over objects in memory.

Its answers have the form of those of NetBox 4.7.3, one of each recorded in `output/netbox-answers.json`. What it
refuses is refused by that server, too: `make netbox` runs the same tests with the real one.
"""

from __future__ import annotations

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Thing = dict[str, Any]

TOKEN = "nbt_recorded.token"  # noqa: S105 - the server of tests alone takes it
ANSWERS: dict[str, Thing] = json.loads(Path(__file__).parent.joinpath("output/netbox-answers.json").read_text("utf-8"))
"""An object by its path, as the real server gives it."""
REFERENCES = {
    "site": "dcim/sites",
    "location": "dcim/locations",
    "manufacturer": "dcim/manufacturers",
    "role": "dcim/device-roles",
    "rack": "dcim/racks",
    "device": "dcim/devices",
    "device_type": "dcim/device-types",
    "module_type": "dcim/module-types",
    "module_bay": "dcim/module-bays",
}
UNIQUE = {
    "extras/tags": ("slug",),
    "dcim/sites": ("slug",),
    "dcim/locations": ("site", "slug"),
    "dcim/manufacturers": ("slug",),
    "dcim/device-roles": ("slug",),
    "dcim/device-types": ("manufacturer", "slug"),
    "dcim/module-types": ("manufacturer", "model"),
    "dcim/racks": ("location", "name"),
    "dcim/devices": ("site", "name"),
    "dcim/interfaces": ("device", "name"),
    "dcim/power-ports": ("device", "name"),
    "dcim/module-bays": ("device", "name"),
    "dcim/modules": ("module_bay",),
}
COMPONENTS = {
    "dcim/interface-templates": "dcim/interfaces",
    "dcim/power-port-templates": "dcim/power-ports",
    "dcim/module-bay-templates": "dcim/module-bays",
}
CASCADES = ("dcim/interfaces", "dcim/power-ports", "dcim/module-bays", "dcim/modules", *COMPONENTS)
"""What goes with the object that it belongs to; other references protect it."""
SIDES = ("a_terminations", "b_terminations")


class RefusedError(Exception):
    """A request is answered with an error; arguments are the status and the answer."""


def plain(value: Any) -> Any:
    """The number of an object, the value of a choice."""
    return value.get("id", value.get("value")) if isinstance(value, dict) else value


class RecordedNetBox:
    """The objects by path and number."""

    def __init__(self) -> None:
        self.things: dict[str, dict[int, Thing]] = {path: {} for path in ANSWERS}
        self.numbers = count(1)
        self.lock = threading.Lock()
        self.requests = list[tuple[str, str, int]]()
        """Method, path and number of objects of each request."""

    def answer(self, method: str, path: str, query: dict[str, list[str]], content: Any) -> Any:
        """The answer to a request; a list of objects is written as a whole or not at all."""
        with self.lock:
            return self.answer_alone(method, path, query, content)

    def answer_alone(self, method: str, path: str, query: dict[str, list[str]], content: Any) -> Any:
        """The answer to a request while no other is answered."""
        self.requests.append((method, path, len(content or ())))
        if method == "GET":
            return self.page(path, query)
        before = {name: {number: {**thing} for number, thing in things.items()} for name, things in self.things.items()}
        try:
            write = {"POST": self.create, "PATCH": self.change, "DELETE": self.delete}[method]
            return [write(path, fields) for fields in content]
        except RefusedError:
            self.things = before
            raise

    def page(self, path: str, query: dict[str, list[str]]) -> Thing:
        """The objects that a query selects, one page of them, with the fields asked for."""
        things = list(self.things[path].values())
        for name, values in query.items():
            if name in ("site_id", "device_id"):
                if not {int(value) for value in values} <= self.things[REFERENCES[name[:-3]]].keys():
                    raise RefusedError(400, {name: ["Select a valid choice."]})
                things = [thing for thing in things if str(self.owner(path, thing, name[:-3])) in values]
            elif name == "tag":
                things = [thing for thing in things if {tag["slug"] for tag in (thing.get("tags") or ())} & {*values}]
            elif name in ("slug", "model"):
                things = [thing for thing in things if thing[name] in values]
        start, limit = int(query["offset"][0]), int(query["limit"][0])
        results = things[start : start + limit]
        if "fields" in query:
            wanted = query["fields"][0].split(",")
            results = [{name: value for name, value in thing.items() if name in wanted} for thing in results]
        return {"count": len(things), "next": None, "previous": None, "results": results}

    def owner(self, path: str, thing: Thing, kind: str) -> Any:
        """The number of the site or device of an object."""
        if path == "dcim/cables":
            end = thing["a_terminations"][0]["object_id"]
            return self.owner("dcim/interfaces", self.things["dcim/interfaces"][end], kind)
        if kind not in thing and thing.get("device"):
            return plain(self.things["dcim/devices"][thing["device"]["id"]][kind])
        return plain(thing.get(kind))

    def create(self, path: str, fields: Thing) -> Thing:
        """Create an object, a device with the components of its type."""
        thing = {name: [] if name == "tags" else None for name in ANSWERS[path]} | {"id": next(self.numbers)}
        self.things[path][thing["id"]] = thing
        self.fill(path, thing, fields)
        for template, component in COMPONENTS.items() if path == "dcim/devices" else ():
            for of_type in [*self.things[template].values()]:
                if plain(of_type["device_type"]) == plain(thing["device_type"]):
                    names = of_type.keys() & ANSWERS[component].keys() - {
                        "id",
                        "url",
                        "display",
                        "display_url",
                        "created",
                        "last_updated",
                    }
                    self.create(component, {**{name: plain(of_type[name]) for name in names}, "device": thing["id"]})
        return thing

    def change(self, path: str, fields: Thing) -> Thing:
        """Change the fields of an object."""
        self.fill(path, self.things[path][fields["id"]], fields)
        return self.things[path][fields["id"]]

    def fill(self, path: str, thing: Thing, fields: Thing) -> None:
        """Set fields in the form of an answer, and refuse what the real server refuses."""
        for name, value in fields.items():
            if name not in ANSWERS[path]:
                raise RefusedError(400, {name: ["is not a field"]})
            shape = ANSWERS[path][name]
            if name == "tags":
                thing[name] = [self.brief("extras/tags", number) for number in value]
            elif name in REFERENCES and value is not None:
                thing[name] = self.brief(REFERENCES[name], value)
            elif isinstance(shape, dict) and set(shape) == {"value", "label"}:
                thing[name] = {"value": value, "label": str(value).title()}
            else:
                thing[name] = float(value) if isinstance(shape, float) and value is not None else value
        thing["display"] = str(thing.get("label") or thing.get("name") or thing.get("model") or f"#{thing['id']}")
        others = [other for other in self.things[path].values() if other is not thing]
        if key := UNIQUE.get(path):
            own = [plain(thing[name]) for name in key]
            if any(own == [plain(other[name]) for name in key] for other in others):
                raise RefusedError(400, {"__all__": [f"{thing['display']} must be unique."]})
        if path == "dcim/cables":
            self.plug(thing, others)
        if path == "dcim/devices" and thing["position"] is not None:
            place = (plain(thing["rack"]), thing["position"])
            if place in {(plain(other["rack"]), other["position"]) for other in others}:
                raise RefusedError(400, {"position": [f"U{thing['position']:g} is already occupied"]})

    def plug(self, cable: Thing, others: list[Thing]) -> None:
        """Refuse a cable in a port of another, and note it at its ports."""
        taken = {end["object_id"] for other in others for side in SIDES for end in other[side]}
        for end in (end for side in SIDES for end in cable[side]):
            if end["object_id"] in taken:
                raise RefusedError(400, {"__all__": [f"Duplicate termination found for {end['object_id']}"]})
            self.things["dcim/interfaces"][end["object_id"]]["cable"] = {"id": cable["id"]}

    def brief(self, path: str, number: int) -> Thing:
        """An object as others refer to it."""
        thing = self.things[path].get(number)
        if thing is None:
            raise RefusedError(400, {"detail": f"Related object not found using the provided numeric ID: {number}"})
        return {name: thing[name] for name in ("id", "display", "name", "slug", "model") if name in thing}

    def delete(self, path: str, fields: Thing) -> None:
        """Delete an object with what belongs to it; one that others refer to is refused."""
        number = fields["id"]
        for name, target in REFERENCES.items():
            for other, things in self.things.items() if target == path else ():
                for referring in [thing for thing in things.values() if plain(thing.get(name)) == number]:
                    if other not in CASCADES:
                        raise RefusedError(409, {"detail": "Unable to delete object. 1 dependent objects were found"})
                    self.delete(other, {"id": referring["id"]})
        self.things[path].pop(number, None)


@contextmanager
def serve(
    netbox: RecordedNetBox,
    instead: Callable[[BaseHTTPRequestHandler], bool] = lambda _: False,
    context: ssl.SSLContext | None = None,
) -> Iterator[str]:
    """The address at which a server answers, unless `instead` has answered a request."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if instead(self):
                return
            parts = urlsplit(self.path)
            size = int(self.headers.get("Content-Length") or 0)
            content = json.loads(self.rfile.read(size)) if size else None
            status, said = {"GET": 200, "POST": 201, "PATCH": 200, "DELETE": 204}[self.command], None
            try:
                if self.headers["Authorization"] != f"Bearer {TOKEN}":
                    raise RefusedError(403, {"detail": "Invalid v2 token"})
                path = parts.path.removeprefix("/api/").strip("/")
                said = netbox.answer(self.command, path, parse_qs(parts.query), content)
            except RefusedError as error:
                status, said = error.args
            self.give(status, "application/json", b"" if status == 204 else json.dumps(said).encode())

        do_POST = do_PATCH = do_DELETE = do_GET  # noqa: N815 - the names that http.server asks for

        def give(self, status: int, form: str, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", form)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http{'s' * bool(context)}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
