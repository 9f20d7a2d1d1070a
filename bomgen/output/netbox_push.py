"""Brings a NetBox server up to date with a wiring: the tables of `output.wiring.netbox`, through its REST API.

Objects are recognised by what distinguishes them: a device by its name, a cable by its two ends. What the plan decides
(`Kind.ours`) is set at each push. Everything else, such as the status, is set when an object is created and belongs to
the operators after that. Objects that a push creates carry the tag of the plan: only these are ever deleted, and only
as long as they are planned.
"""

from __future__ import annotations

import json
import re
import ssl
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import count
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from bomgen.cabling.types import Wiring
from bomgen.core.diagnostics import OutputError
from bomgen.core.jobs import report_stage
from bomgen.output.wiring.netbox import CABLES, INTERFACE, PLANNED, list_tables

Fields = dict[str, Any]
Key = tuple[str, ...]
Port = tuple[str, str]
"""Names of a device and of its port."""

TAG = "bomgen-"
"""Beginning of the tag of a plan; the name of its site follows."""
AT_ONCE = 250
"""Objects per request, which NetBox writes all or none of."""
PAGE = 1000
"""Objects per page, the most that NetBox gives by default."""
TIMEOUT_S = 300
MOST_BYTES = 64 * 10**6
"""Maximum size of an answer: a page of devices has 3 MB."""
MOST_SHOWN = 20
"""Changes of one kind in a table that are listed one by one."""
MOST_SAID = 300
"""Characters of an error of the server that are shown."""
CONNECTED, ACTIVE = "connected", "active"
"""The status of what a verification has found as planned: of a cable, and of its devices and modules."""
ENDS = ("a_terminations", "b_terminations")
PLACE = ("location", "rack", "position", "face")
"""Fields of a device that change together."""
NEW, CHANGED, DELETED, KEPT, REFUSED = "+", "~", "-", "=", "!"
WORDS = {NEW: "new", CHANGED: "changed", DELETED: "deleted", KEPT: "left as they are", REFUSED: "not written"}


class Kind(NamedTuple):
    """How the rows of a table are kept in NetBox."""

    path: str
    key: tuple[str, ...]
    """Fields that distinguish an object."""
    ours: tuple[str, ...] = ()
    """Fields that each push sets."""
    names: tuple[str, ...] = ("name",)
    """Columns by which other rows and people refer to an object."""
    found_by: str = "site_id"
    """The filter that lists the objects: their site, or the field of this name."""
    tagged: bool = True
    """Whether objects carry the tag; components go with their device."""
    columns_only: tuple[str, ...] = ()
    """Columns that are no fields."""


KINDS = {
    "sites": Kind("dcim/sites", ("slug",), found_by="slug"),
    "locations": Kind("dcim/locations", ("slug",)),
    "manufacturers": Kind("dcim/manufacturers", ("slug",), found_by="slug"),
    "device-roles": Kind("dcim/device-roles", ("slug",), found_by="slug"),
    "device-types": Kind(
        "dcim/device-types", ("manufacturer", "slug"), names=("manufacturer", "model"), found_by="slug"
    ),
    "module-types": Kind(
        "dcim/module-types", ("manufacturer", "model"), names=("manufacturer", "model"), found_by="model"
    ),
    "racks": Kind("dcim/racks", ("location", "name"), ("u_height", "outer_width", "outer_depth", "outer_unit")),
    "devices": Kind("dcim/devices", ("name",), ("device_type", *PLACE), columns_only=("manufacturer",)),
    "interfaces": Kind(
        *("dcim/interfaces", ("device", "name"), ("type", "speed"), ("device", "name")),
        tagged=False,
        columns_only=("description",),
    ),
    "power-ports": Kind("dcim/power-ports", ("device", "name"), names=("device", "name"), tagged=False),
    "module-bays": Kind("dcim/module-bays", ("device", "name"), names=("device", "name"), tagged=False),
    "modules": Kind(
        *("dcim/modules", ("module_bay",), ("module_type",), ("device", "module_bay")),
        tagged=False,
        columns_only=("manufacturer",),
    ),
    CABLES: Kind("dcim/cables", ENDS, ("type", "label", "color", "length", "length_unit"), ("label",)),
}
"""Every table, in the order in which objects refer to those before them."""
TEMPLATES = {
    "interfaces": "dcim/interface-templates",
    "power-ports": "dcim/power-port-templates",
    "module-bays": "dcim/module-bay-templates",
}
"""The path of the templates from which a new device gets its components, by their table."""
TEMPLATE_FIELDS = ("name", "type", "maximum_draw", "allocated_draw")
REFERENCES = {
    "site": ("sites",),
    "location": ("locations",),
    "manufacturer": ("manufacturers",),
    "role": ("device-roles",),
    "rack": ("racks",),
    "device": ("devices",),
    "device_type": ("device-types", "manufacturer"),
    "module_type": ("module-types", "manufacturer"),
    "module_bay": ("module-bays", "device"),
}
"""The table of the object that a column names, and the column of what that object belongs to."""


class Change(NamedTuple):
    """What a push does to an object, or why it does nothing."""

    sign: str
    table: str
    name: str
    detail: str = ""


class _InUse(OutputError):
    """Other objects refer to one that was to be deleted."""


class Server:
    """The REST API of a NetBox. Every method raises OutputError if the server cannot be reached or refuses."""

    def __init__(self, url: str, token: str) -> None:
        """Take the address of the server and a token. Raises ValueError for what can be neither."""
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username:
            raise ValueError("give the address as https://netbox.example.com")
        if not re.fullmatch("[!-~]+", url) or parts.port == 0:
            raise ValueError("the address has a sign that no address has")
        if not re.fullmatch("[!-~]+", token):
            raise ValueError("the file holds no token; a token is one word")
        self.url, self._base = url.rstrip("/"), f"{parts.path.rstrip('/').removesuffix('/api')}/api/"
        self._connect = partial(HTTPConnection, parts.netloc)
        if parts.scheme == "https":
            self._connect = partial(HTTPSConnection, parts.netloc, context=ssl.create_default_context())
        # NetBox 4.5 brought tokens of a second version.
        keyword = "Bearer" if token.startswith("nbt_") else "Token"
        self._headers = {"Authorization": f"{keyword} {token}", "Accept": "application/json"}
        self._has_written = False

    def list_objects(self, path: str, query: Mapping[str, object]) -> list[Fields]:
        """Return all objects that a query selects."""
        objects = list[Fields]()
        while True:
            page = self._ask("GET", path, {**query, "limit": PAGE, "offset": len(objects), "ordering": "id"})
            results = page.get("results") if isinstance(page, dict) else None
            if not isinstance(results, list):
                raise self._error(f"answers {path} with no list of objects; give the address of a NetBox")
            objects += results
            if not results or len(objects) >= page.get("count", 0):
                return objects

    def write(self, method: str, path: str, objects: Sequence[Fields]) -> list[Fields]:
        """Create (POST), change (PATCH) or delete (DELETE) objects; return those created or changed, in their order."""
        written = list[Fields]()
        for start in range(0, len(objects), AT_ONCE):
            written += self._ask(method, path, content=objects[start : start + AT_ONCE]) or ()
            self._has_written = True
        return written

    def _ask(self, method: str, path: str, query: Mapping[str, object] = {}, content: Any = None) -> Any:
        target = f"{self._base}{path}/" + (f"?{urlencode(query, doseq=True)}" if query else "")
        body = None if content is None else json.dumps(content).encode()
        headers = self._headers | ({} if body is None else {"Content-Type": "application/json"})
        connection = self._connect(timeout=TIMEOUT_S)
        try:
            connection.request(method, target, body, headers)
            answer = connection.getresponse()
            status, said = answer.status, answer.read(MOST_BYTES)
        except ssl.SSLCertVerificationError as error:
            reason = f"its certificate is refused: {error.verify_message}; SSL_CERT_FILE names those to trust"
            raise self._error(reason) from None
        except (OSError, HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise self._error(f"cannot be reached: {reason}") from None
        finally:
            connection.close()
        if status == HTTPStatus.NO_CONTENT:
            return None
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            raise self._error(f"leads to {answer.getheader('Location')}; give the address that it leads to")
        try:
            data = json.loads(said)
        except (ValueError, RecursionError):
            form = answer.getheader("Content-Type", "no type").partition(";")[0]
            reason = f"answers {status} with {form} instead of JSON; give the address of a NetBox"
            raise self._error(reason) from None
        if status < HTTPStatus.BAD_REQUEST:
            return data
        reason = _first_error(data, content)
        if status == HTTPStatus.CONFLICT:
            raise _InUse(reason)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self._error(f"refuses the token: {reason}")
        raise self._error(f"answers {status} at {path}: {reason}")

    def _error(self, reason: str) -> OutputError:
        kept = "; what was written before stays, and the next push goes on" if self._has_written else ""
        return OutputError(f"{self.url} {reason[:MOST_SAID]}{kept}")


def _first_error(data: Any, content: Any) -> str:
    """Return the first message of an answer, with the object of a request that it is about."""
    about = ""
    for _ in range(MOST_SHOWN):
        if isinstance(data, dict) and data:
            key, data = next((item for item in data.items() if item[1]), ("", ""))
            about += "" if key in ("detail", "__all__", "errors", "non_field_errors") else f"{key}: "
        elif isinstance(data, list) and data:
            number = next((number for number, item in enumerate(data) if item), 0)
            if isinstance(content, list) and len(data) == len(content) and not about:
                about = f"{content[number].get('name') or content[number].get('label') or number + 1}: "
            data = data[number]
    return f"{about}{data}"


class Push:
    """A push of a wiring: `changes` are what it does, or with `only_read` what it would do.

    `verified` are the two ends of each cable that was found as planned. Every method raises OutputError as Server does.
    """

    def __init__(
        self, server: Server, wiring: Wiring, only_read: bool = False, verified: Collection[frozenset[Port]] = ()
    ) -> None:
        self.server, self.wiring, self.only_read, self.verified = server, wiring, only_read, verified
        self.changes = list[Change]()
        self._built = {end for cable in verified for device, port in cable for end in ((device, port), (device, ""))}
        """Devices, with an empty text, and ports that were found as planned."""
        self._ids = dict[tuple[str, ...], int]()
        """The number of each object in NetBox, by table and names."""
        self._new_devices = set[str]()
        self._unknown = count(-1, -1)
        """Numbers of objects that are not created."""
        self._slug = f"{TAG}{wiring.site}"
        self._tag = next((tag["id"] for tag in server.list_objects("extras/tags", {"slug": self._slug})), None)

    def write(self) -> None:
        """Write the wiring."""
        if self._tag is None:
            tag = {"name": self._slug, "slug": self._slug, "description": f"Created by bomgen from {self.wiring.site}"}
            (self._tag,) = self._create("extras/tags", [tag])
        tables = {
            name: [dict(zip(columns, row, strict=True)) for row in rows]
            for name, (columns, rows) in list_tables(self.wiring, lambda _: None).items()
        }
        for table in KINDS:
            report_stage(table)
            new = self._write_table(table, tables[table])
            if table == "devices":
                self._new_devices = {row["name"] for row in new}
            if table == "device-types":
                self._create_templates({(row["manufacturer"], row["model"]) for row in new}, tables)

    def prune(self) -> None:
        """Delete what has the tag of the plan and is planned, and the tag unless something keeps it."""
        if self._tag is None:
            return
        for table, kind in reversed(KINDS.items()):
            if kind.tagged:
                report_stage(table)
                things = self.server.list_objects(kind.path, {"tag": self._slug, "fields": "id,display,status"})
                self._delete(table, [thing for thing in things if _is_planned(thing)])
                for thing in things:
                    if not _is_planned(thing):
                        self._note(KEPT, table, thing["display"], f"it is {_text(thing['status'])}")
        if not self.only_read and not any(change.sign == KEPT for change in self.changes):
            self.server.write("DELETE", "extras/tags", [{"id": self._tag}])

    def _note(self, sign: str, table: str, name: str, detail: str = "") -> None:
        self.changes.append(Change(sign, table, name, detail))

    def _note_row(self, sign: str, table: str, row: Fields, detail: str = "") -> None:
        """Note the change of an object, unless it comes with its new device."""
        if row.get("device") not in self._new_devices:
            self._note(sign, table, " ".join(_names(KINDS[table], row)), detail)

    def _create(self, path: str, objects: Sequence[Fields]) -> list[int]:
        if self.only_read:
            return [next(self._unknown) for _ in objects]
        return [created["id"] for created in self.server.write("POST", path, objects)]

    def _change(self, path: str, objects: Sequence[Fields]) -> None:
        if not self.only_read:
            self.server.write("PATCH", path, objects)

    def _delete(self, table: str, things: Sequence[Fields]) -> None:
        for start in range(0, len(things), AT_ONCE):
            part = things[start : start + AT_ONCE]
            try:
                if not self.only_read:
                    self.server.write("DELETE", KINDS[table].path, [{"id": thing["id"]} for thing in part])
            except _InUse:
                if len(part) == 1:
                    self._note(KEPT, table, part[0]["display"], "it is in use")
                else:
                    for thing in part:
                        self._delete(table, [thing])
            else:
                for thing in part:
                    self._note(DELETED, table, thing["display"])

    def _write_table(self, table: str, rows: Sequence[Fields]) -> list[Fields]:
        """Write a table and return the rows of the objects that are new."""
        kind = KINDS[table]
        wanted = {_key(kind, fields): (row, fields) for row in rows for fields in [self._resolve(table, row)]}
        present = {_key(kind, thing): thing for thing in self._list(kind, rows)}
        new = {key: row for key, row in wanted.items() if key not in present}
        if table == CABLES:
            self._free_ports(new, {key: thing for key, thing in present.items() if key not in wanted})
        changed = list[Fields]()
        for key, thing in present.items():
            if key in wanted:
                row, fields = wanted[key]
                self._ids[table, *_names(kind, row)] = thing["id"]
                if changes := self._compare(table, row, fields, thing):
                    changed.append({"id": thing["id"], **changes})
            elif kind.tagged and any(tag["slug"] == self._slug for tag in thing["tags"]):
                self._note(KEPT, table, thing["display"], "the plan no longer has it")
        # Machines that change places would find them taken by each other.
        self._change(kind.path, [{"id": moved["id"], "position": None} for moved in changed if "position" in moved])
        self._change(kind.path, changed)
        tags = {"tags": [self._tag]} if kind.tagged else {}
        numbers = self._create(kind.path, [fields | tags for _, fields in new.values()])
        for (row, _), number in zip(new.values(), numbers, strict=True):
            self._ids[table, *_names(kind, row)] = number
            self._note_row(NEW, table, row)
        return [row for row, _ in new.values()]

    def _list(self, kind: Kind, rows: Sequence[Fields]) -> list[Fields]:
        """Return the objects that the rows of a table may be; none if the site is new."""
        if kind.found_by == "site_id":
            values: list[Any] = [number for number in [self._ids["sites", self.wiring.site]] if number >= 0]
        else:
            values = sorted({row[kind.found_by] for row in rows})
        if not values:
            return []
        fields = ",".join(dict.fromkeys(("id", "display", "status", "tags", *kind.key, *kind.ours)))
        return self.server.list_objects(kind.path, {kind.found_by: values, "fields": fields})

    def _resolve(self, table: str, row: Fields) -> Fields:
        """Return the fields of a row, with the numbers of the objects that it names; what is unknown is left out."""
        fields: Fields = {}
        if table == CABLES:
            for field, end in zip(ENDS, _ends(row), strict=True):
                fields[field] = [{"object_type": INTERFACE, "object_id": self._ids["interfaces", *end]}]
        for column, value in row.items():
            if value == "" or column.startswith("side_") or column in KINDS[table].columns_only:
                continue
            referred, *owner = REFERENCES.get(column, ("",))
            names = (str(row[name]) for name in (*owner, column))
            fields[column] = self._ids[referred, *names] if referred else value
        if status := self._verified_status(table, row):
            fields["status"] = status
        return fields

    def _verified_status(self, table: str, row: Fields) -> str | None:
        """Return the status of an object that a verification has found as planned; None without one."""
        if table == CABLES:
            return CONNECTED if frozenset(_ends(row)) in self.verified else None
        of_table = {"devices": ("name",), "modules": ("device", "module_bay")}.get(table)
        device, port = (*(row[name] for name in of_table), "")[:2] if of_table else ("", "")
        return ACTIVE if (device, port) in self._built else None

    def _compare(self, table: str, row: Fields, fields: Fields, thing: Fields) -> Fields:
        """Return the fields of an object that change, and note them."""
        kind = KINDS[table]
        names = [name for name in kind.ours if name in fields and _text(fields[name]) != _text(thing.get(name))]
        if {*names} & {*PLACE}:
            names = [name for name in kind.ours if name in names or (name in PLACE and name in fields)]
        if fields.get("status") in (CONNECTED, ACTIVE) and _is_planned(thing):
            names.append("status")
        if names:
            texts = (
                f"{name} {_shown(thing.get(name))} -> {row[name] if name in kind.ours else fields[name]}"
                for name in names
            )
            self._note_row(CHANGED, table, row, ", ".join(texts))
        return {name: fields[name] for name in names}

    def _free_ports(self, new: dict[Key, tuple[Fields, Fields]], others: Mapping[Key, Fields]) -> None:
        """Delete the planned cables in the ports of new ones; leave out new cables whose ports operators have used."""
        taken = {end: thing for key, thing in others.items() for end in key}
        leaving = dict[int, Fields]()
        for key, (row, _) in list(new.items()):
            in_the_way = [taken[end] for end in key if end in taken]
            for thing in in_the_way:
                is_ours = any(tag["slug"] == self._slug for tag in thing["tags"])
                if not (is_ours and _is_planned(thing)):
                    self._note(REFUSED, CABLES, row["label"], f"{thing['display']} is in its port")
                    new.pop(key, None)
            if key in new:
                leaving |= {thing["id"]: thing for thing in in_the_way}
        self._delete(CABLES, list(leaving.values()))

    def _create_templates(self, models: Collection[tuple[str, str]], tables: Mapping[str, Sequence[Fields]]) -> None:
        """Create the ports, power supplies and module bays of new device types: those that their devices have."""
        model_of = {row["name"]: (row["manufacturer"], row["device_type"]) for row in tables["devices"]}
        for table, path in TEMPLATES.items():
            of_models = defaultdict[tuple[str, str], dict[str, Fields]](dict)
            for row in tables[table]:
                if (model := model_of[row["device"]]) in models:
                    fields = {name: row[name] for name in TEMPLATE_FIELDS if name in row}
                    of_models[model].setdefault(row["name"], fields)
            for model, components in of_models.items():
                owner = {"device_type": self._ids["device-types", *model]}
                undivided = components.keys() - _divided(components)
                self._create(path, [owner | fields for name, fields in components.items() if name in undivided])


def _divided(names: Collection[str]) -> set[str]:
    """Return the names of ports that some devices divide and others do not, such as swp1 and swp1s0."""
    pairs = ((name, part) for name in names for part in names if part != name and part.startswith(name))
    return {port for name, part in pairs if not part[len(name)].isdigit() for port in (name, part)}


def _key(kind: Kind, fields: Fields) -> Key:
    """Return what distinguishes an object: the numbers of the two ends of a cable, in any order, or texts."""
    if kind.key == ENDS:
        ends = (end for side in ENDS for end in fields[side])
        return tuple(sorted(f"{end['object_type']} {end['object_id']}" for end in ends))
    return tuple(_text(fields[name]) for name in kind.key)


def _names(kind: Kind, row: Fields) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in kind.names)


def _ends(row: Fields) -> tuple[Port, Port]:
    return ((row["side_a_device"], row["side_a_name"]), (row["side_b_device"], row["side_b_name"]))


def _is_planned(thing: Fields) -> bool:
    return _text(thing.get("status")) in ("", PLANNED)


def _text(value: Any) -> str:
    """Return a value in the form in which it is compared: objects by their numbers, choices by their value."""
    if isinstance(value, dict):
        value = value.get("id", value.get("value"))
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value)


def _shown(value: Any) -> str:
    return value["display"] if isinstance(value, dict) and "display" in value else _text(value) or "none"


def list_changes(changes: Sequence[Change]) -> Iterator[str]:
    """Yield a line per change, of many alike the first ones, then their numbers by table."""
    numbers = Counter((change.table, change.sign) for change in changes)
    shown = Counter[tuple[str, str]]()
    for change in changes:
        group = change.table, change.sign
        shown[group] += 1
        if shown[group] <= MOST_SHOWN:
            yield f"{change.sign} {change.table}: {change.name}" + (f" ({change.detail})" if change.detail else "")
        elif shown[group] == numbers[group]:
            yield f"{change.sign} {change.table}: {numbers[group] - MOST_SHOWN} more"
    for table in dict.fromkeys(change.table for change in changes):
        counts = (f"{numbers[table, sign]} {word}" for sign, word in WORDS.items() if numbers[table, sign])
        yield f"{table}: {', '.join(counts)}"
