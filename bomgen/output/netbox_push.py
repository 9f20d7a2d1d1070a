"""Brings a NetBox up to date with a wiring: the tables of `output.wiring.netbox`, through its REST API.

`data/netbox.yaml` says how each table is kept. Objects are recognised by what distinguishes them: a device by its name,
a cable by its two ends. What the plan decides is set at each push; everything else, such as the status, is set when an
object is created and belongs to the operators after that. Objects that a push creates carry the tag of the plan: only
these are ever deleted, and only as long as they are planned.
"""

from __future__ import annotations

import json
import re
import ssl
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from itertools import chain, count
from operator import itemgetter
from typing import Any, NamedTuple
from urllib.parse import urlencode, urlsplit

from bomgen.cabling.types import Wiring
from bomgen.core.diagnostics import OutputError
from bomgen.core.jobs import report_stage
from bomgen.core.yaml_source import read_data
from bomgen.output.wiring.netbox import CABLES, DATA, INTERFACE, PLANNED, list_tables

Fields = dict[str, Any]
Key = tuple[str, ...]

TAG = "bomgen-"
"""Beginning of the tag of a plan; the name of its site follows."""
AT_ONCE = 25
"""Objects per request, which NetBox writes all or none of: seconds of work, where proxies and workers wait a minute."""
CONNECTIONS = 4
"""Requests at a time."""
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
"""The status of what a verification has found as planned: of a cable, and of the devices and modules at its ends."""
ENDS = ("a_terminations", "b_terminations")
PLACE = ("location", "rack", "position", "face")
"""Fields of a device that change together."""
NEW, CHANGED, DELETED, KEPT, REFUSED = "+", "~", "-", "=", "!"
WORDS = {NEW: "new", CHANGED: "changed", DELETED: "deleted", KEPT: "left as they are", REFUSED: "not written"}


class Kind(NamedTuple):
    """How a table is kept, in the words of `data/netbox.yaml`."""

    path: str
    key: Sequence[str]
    ours: Sequence[str] = ()
    names: Sequence[str] = ("name",)
    filter: str = "site_id"
    tagged: bool = True
    template: str = ""
    no_fields: Sequence[str] = ()


def read_kinds() -> dict[str, Kind]:
    """Return every table, in the order in which objects refer to those before them."""
    return {table: Kind(**entry) for table, entry in read_data(DATA)["tables"].items()}


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
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username or parts.port == 0:
            raise ValueError("give the address as https://netbox.example.com")
        if not re.fullmatch("[!-~]+", url) or not re.fullmatch("[!-~]+", token):
            raise ValueError("an address and a token are one word each, in ASCII")
        self.url, self._base = url.rstrip("/"), f"{parts.path.rstrip('/').removesuffix('/api')}/api/"
        self._connect = partial(HTTPConnection, parts.netloc, timeout=TIMEOUT_S)
        if parts.scheme == "https":
            context = ssl.create_default_context()
            self._connect = partial(HTTPSConnection, parts.netloc, timeout=TIMEOUT_S, context=context)
        # NetBox 4.5 brought tokens of a second version.
        keyword = "Bearer" if token.startswith("nbt_") else "Token"
        self._headers = {"Authorization": f"{keyword} {token}", "Content-Type": "application/json"}
        self._has_written = False
        self._at_once = read_data(DATA)["at_once"]

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
        """Create (POST), change (PATCH) or delete (DELETE) objects; return them in their order.

        Of objects to be deleted, those are returned that others refer to, which stay.
        """
        field = self._at_once.get(path, "")
        groups = defaultdict[Any, list[int]](list)
        for number, thing in enumerate(objects):
            groups[thing.get(field, number // AT_ONCE)].append(number)

        def send(numbers: Sequence[int]) -> list[tuple[int, Fields]]:
            try:
                answer = self._ask(method, path, {}, [objects[number] for number in numbers])
            except _InUse:
                if len(numbers) == 1:
                    return [(numbers[0], objects[numbers[0]])]
                return [kept for number in numbers for kept in send([number])]
            return [*zip(numbers, answer or (), strict=False)]

        def send_in_turn(numbers: Sequence[int]) -> list[tuple[int, Fields]]:
            parts = (numbers[start : start + AT_ONCE] for start in range(0, len(numbers), AT_ONCE))
            return [written for part in parts for written in send(part)]

        pool = ThreadPoolExecutor(CONNECTIONS if path in self._at_once else 1)
        try:
            written = chain.from_iterable(pool.map(send_in_turn, groups.values()))
            return [thing for _, thing in sorted(written, key=itemgetter(0))]
        finally:
            pool.shutdown(cancel_futures=True)

    def _ask(self, method: str, path: str, query: Mapping[str, object], content: object = None) -> Any:
        connection = self._connect()
        body = None if content is None else json.dumps(content)
        try:
            connection.request(method, f"{self._base}{path}/?{urlencode(query, doseq=True)}", body, self._headers)
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
        if HTTPStatus.MULTIPLE_CHOICES <= status < HTTPStatus.BAD_REQUEST:
            raise self._error(f"leads to {answer.getheader('Location')}; give the address that it leads to")
        try:
            data = None if status == HTTPStatus.NO_CONTENT else json.loads(said)
        except (ValueError, RecursionError):
            form = answer.getheader("Content-Type", "no type").partition(";")[0]
            reason = f"answers {status} with {form} instead of JSON; give the address of a NetBox"
            raise self._error(reason) from None
        if status < HTTPStatus.BAD_REQUEST:
            self._has_written |= method != "GET"
            return data
        if status == HTTPStatus.CONFLICT:
            raise _InUse
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            raise self._error(f"refuses the token: {_first_message(data)}")
        raise self._error(f"answers {status} at {path}: {_first_message(data)}")

    def _error(self, reason: str) -> OutputError:
        kept = "; what was written before stays, and the next push goes on" if self._has_written else ""
        return OutputError(f"{self.url} {reason[:MOST_SAID]}{kept}")


def _first_message(data: Any) -> str:
    """Return the first message of an answer, with the fields that lead to it."""
    if isinstance(data, dict) and data:
        key, value = next((item for item in data.items() if item[1]), ("", ""))
        return _first_message(value) if key in ("detail", "__all__") else f"{key}: {_first_message(value)}"
    if isinstance(data, list) and data:
        return _first_message(next(filter(None, data), ""))
    return str(data)


class Push:
    """One push of a cable list to a NetBox: `changes` are the changes made, or with `only_read` those to be made.

    `verified` are the labels of cables that were found as planned. Every method raises OutputError as Server does.
    """

    def __init__(self, server: Server, wiring: Wiring, only_read: bool = False, verified: Collection[str] = ()) -> None:
        self.server, self.wiring, self.only_read, self.verified = server, wiring, only_read, verified
        self.kinds, self.references = read_kinds(), read_data(DATA)["references"]
        self.changes = list[Change]()
        self._tables: dict[str, list[Fields]] = {}
        self._built = set[Key]()
        """Devices, and devices with their ports, that are verified."""
        self._ids = dict[Key, int]()
        """The number of each object in NetBox, by table and names; below 0 if it is not created."""
        self._unknown = count(-1, -1)
        self._new_devices = set[str]()
        self._slug = f"{TAG}{wiring.site}"
        self._tag = next((tag["id"] for tag in server.list_objects("extras/tags", {"slug": self._slug})), None)

    def write(self) -> None:
        """Write the wiring."""
        if self._tag is None:
            (self._tag,) = self._send("POST", "extras/tags", [{"name": self._slug, "slug": self._slug}])
        for table, (columns, rows) in list_tables(self.wiring, lambda _: None).items():
            self._tables[table] = [dict(zip(columns, row, strict=True)) for row in rows]
        for row in self._tables[CABLES]:
            if row["label"] in self.verified:
                self._built |= {key for device, port in _ends(row) for key in ((device,), (device, port))}
        for table in self.kinds:
            report_stage(table)
            new = self._write_table(table)
            if table == "devices":
                self._new_devices = {row["name"] for row in new}
            if table == "device-types":
                self._create_templates({(row["manufacturer"], row["model"]) for row in new})

    def prune(self) -> None:
        """Delete what has the tag of the plan and is planned, and the tag unless something keeps it."""
        for table, kind in reversed(self.kinds.items() if self._tag else ()):
            if kind.tagged:
                report_stage(table)
                query = {"tag": self._slug, "fields": "id,display,status"}
                things = self.server.list_objects(kind.path, query)
                for kept in (thing for thing in things if not _is_planned(thing)):
                    self._note(KEPT, table, kept["display"], f"it is {_text(kept['status'])}")
                self._delete(table, [thing for thing in things if _is_planned(thing)])
        if self._tag and not any(change.sign == KEPT for change in self.changes):
            self._send("DELETE", "extras/tags", [{"id": self._tag}])

    def _note(self, sign: str, table: str, name: str, detail: str = "") -> None:
        self.changes.append(Change(sign, table, name, detail))

    def _note_row(self, sign: str, table: str, row: Fields, detail: str = "") -> None:
        """Note the change of an object, unless it comes with its new device."""
        if row.get("device") not in self._new_devices:
            self._note(sign, table, " ".join(_names(self.kinds[table], row)), detail)

    def _send(self, method: str, path: str, objects: Sequence[Fields]) -> list[int]:
        """Write objects unless the push only reads, and return the numbers that Server.write returns."""
        if self.only_read:
            return [next(self._unknown) for _ in objects]
        return [written["id"] for written in self.server.write(method, path, objects)]

    def _delete(self, table: str, things: Sequence[Fields]) -> None:
        in_use = {*self._send("DELETE", self.kinds[table].path, [{"id": thing["id"]} for thing in things])}
        for thing in things:
            kept = (KEPT, "it is in use") if thing["id"] in in_use else (DELETED, "")
            self._note(kept[0], table, thing["display"], kept[1])

    def _write_table(self, table: str) -> list[Fields]:
        """Write a table and return the rows of the objects that are new."""
        kind, rows = self.kinds[table], self._tables[table]
        wanted = {_key(kind, fields): (row, fields) for row in rows for fields in [self._resolve(table, row)]}
        present = {_key(kind, thing): thing for thing in self._list(kind, rows)}
        new = {key: row for key, row in wanted.items() if key not in present}
        if table == CABLES:
            gone = self._free_ports(new, {key: thing for key, thing in present.items() if key not in wanted})
            present = {key: thing for key, thing in present.items() if thing["id"] not in gone}
        changed = list[Fields]()
        for key, thing in present.items():
            if key in wanted:
                row, fields = wanted[key]
                self._ids[table, *_names(kind, row)] = thing["id"]
                if changes := self._compare(table, row, fields, thing):
                    changed.append({"id": thing["id"], **changes})
            elif kind.tagged and self._is_ours(thing):
                self._note(KEPT, table, thing["display"], "the plan no longer has it")
        # Machines that change places would find them taken by each other.
        self._send(
            "PATCH", kind.path, [{"id": moved["id"], "position": None} for moved in changed if "position" in moved]
        )
        self._send("PATCH", kind.path, changed)
        tags = {"tags": [self._tag]} if kind.tagged else {}
        created = [fields | tags for _, fields in new.values()]
        numbers = self._send("POST", kind.path, created)
        for (row, _), number in zip(new.values(), numbers, strict=True):
            self._ids[table, *_names(kind, row)] = number
            self._note_row(NEW, table, row)
        return [row for row, _ in new.values()]

    def _list(self, kind: Kind, rows: Sequence[Fields]) -> list[Fields]:
        """Return the objects that the rows of a table may be; none if the site is new."""
        if kind.filter == "site_id":
            values: list[Any] = [number for number in [self._ids["sites", self.wiring.site]] if number >= 0]
        else:
            values = sorted({row[kind.filter] for row in rows})
        if not values:
            return []
        fields = ",".join(dict.fromkeys(("id", "display", "status", "tags", *kind.key, *kind.ours)))
        return self.server.list_objects(kind.path, {kind.filter: values, "fields": fields})

    def _is_ours(self, thing: Fields) -> bool:
        return any(tag["slug"] == self._slug for tag in thing["tags"])

    def _resolve(self, table: str, row: Fields) -> Fields:
        """Return the fields of a row, with the numbers of the objects that it names; what is unknown is left out."""
        fields: Fields = {}
        if table == CABLES:
            for field, end in zip(ENDS, _ends(row), strict=True):
                fields[field] = [{"object_type": INTERFACE, "object_id": self._ids["interfaces", *end]}]
        for column, value in row.items():
            if value != "" and not column.startswith("side_") and column not in self.kinds[table].no_fields:
                referred, *owner = self.references.get(column, ("",))
                names = (str(row[name]) for name in (*owner, column))
                fields[column] = self._ids[referred, *names] if referred else value
        if table == CABLES and row["label"] in self.verified:
            fields["status"] = CONNECTED
        elif table in ("devices", "modules") and _names(self.kinds[table], row) in self._built:
            fields["status"] = ACTIVE
        return fields

    def _compare(self, table: str, row: Fields, fields: Fields, thing: Fields) -> Fields:
        """Return the fields of an object that change, and note them."""
        kind = self.kinds[table]
        names = [name for name in kind.ours if name in fields and _text(fields[name]) != _text(thing.get(name))]
        if {*names} & {*PLACE}:
            names = [name for name in kind.ours if name in names or (name in PLACE and name in fields)]
        if fields.get("status") in (CONNECTED, ACTIVE) and _is_planned(thing):
            names.append("status")
        if names:
            new = row | ({"status": fields["status"]} if "status" in names else {})
            texts = (f"{name} {_shown(thing.get(name))} -> {new[name]}" for name in names)
            self._note_row(CHANGED, table, row, ", ".join(texts))
        return {name: fields[name] for name in names}

    def _free_ports(self, new: dict[Key, tuple[Fields, Fields]], others: Mapping[Key, Fields]) -> Collection[int]:
        """Delete the planned cables in the ports of new ones, and return them by their numbers.

        New cables whose ports operators have used are left out of `new`.
        """
        taken = {end: thing for key, thing in others.items() for end in key}
        leaving = dict[int, Fields]()
        for key, (row, _) in list(new.items()):
            in_the_way = [taken[end] for end in key if end in taken]
            kept = [thing for thing in in_the_way if not (self._is_ours(thing) and _is_planned(thing))]
            if kept:
                self._note(REFUSED, CABLES, row["label"], f"{kept[0]['display']} is in its port")
                del new[key]
            else:
                leaving |= {thing["id"]: thing for thing in in_the_way}
        self._delete(CABLES, list(leaving.values()))
        return leaving.keys()

    def _create_templates(self, models: Collection[Key]) -> None:
        """Create the ports, power supplies and module bays of new device types: those that their devices have."""
        model_of: dict[str, Key] = {
            row["name"]: (row["manufacturer"], row["device_type"]) for row in self._tables["devices"]
        }
        for table, kind in self.kinds.items():
            of_models = defaultdict[Key, dict[str, Fields]](dict)
            for row in self._tables[table] if kind.template else ():
                if (model := model_of[row["device"]]) in models:
                    fields = {name: value for name, value in row.items() if name not in ("device", *kind.no_fields)}
                    of_models[model].setdefault(row["name"], fields)
            for model, components in of_models.items():
                owner = {"device_type": self._ids["device-types", *model]}
                names = components.keys() - _divided(components)
                self._send(
                    "POST", kind.template, [owner | fields for name, fields in components.items() if name in names]
                )


def _divided(names: Collection[str]) -> set[str]:
    """Return the names of ports that some devices divide and others do not, such as swp1 and swp1s0."""
    pairs = ((name, part) for name in names for part in names if part != name and part.startswith(name))
    return {port for name, part in pairs if not part[len(name)].isdigit() for port in (name, part)}


def _key(kind: Kind, fields: Fields) -> Key:
    """Return what distinguishes an object: the two ends of a cable, in any order, or the texts of fields."""
    values = [fields[name] for name in kind.key]
    if tuple(kind.key) == ENDS:
        return tuple(sorted(f"{end['object_type']} {end['object_id']}" for side in values for end in side))
    return tuple(map(_text, values))


def _names(kind: Kind, row: Fields) -> Key:
    return tuple(str(row[name]) for name in kind.names)


def _ends(row: Fields) -> tuple[Key, Key]:
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
    """Yield a line per change, of many alike the first ones, then the numbers of each table."""
    numbers = Counter(change[:2] for change in changes)
    shown = Counter[tuple[str, ...]]()
    for change in changes:
        shown[change[:2]] += 1
        if shown[change[:2]] <= MOST_SHOWN:
            yield f"{change.sign} {change.table}: {change.name}" + (f" ({change.detail})" if change.detail else "")
    for table in dict.fromkeys(change.table for change in changes):
        counts = (f"{numbers[sign, table]} {word}" for sign, word in WORDS.items() if numbers[sign, table])
        yield f"{table}: {', '.join(counts)}"
