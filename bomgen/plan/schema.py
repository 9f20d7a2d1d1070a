"""The schema of plans: what it permits and declares at a place of a plan, names that match no part, and clusters.

Each of several clusters of GPUs is calculated as a separate plan of its own workload, fabrics and storage; site,
spares, stock, quote and catalogue belong to the whole plan. The bill covers all designs together, because spares,
stock, price breaks and charges are counted over pieces.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import cache, reduce
from itertools import islice
from typing import Annotated, Any, TypeVar

from bomgen.catalog.files import Catalog, UnknownPart
from bomgen.core import schema as schemas
from bomgen.core.diagnostics import MAX_PROBLEMS, PlanErrors, Problem
from bomgen.core.messages import suggestion
from bomgen.core.provenance import Figure, Mark, sum_of
from bomgen.core.resources import IDS, folder, languages, unfold
from bomgen.core.yaml_source import Path, Source, merged, override, value_at
from bomgen.fabric.types import SERVER, LinkKind, describe_topologies, link_kinds, topologies

PLAN, BASE = "plan", "base"
"""Plans, and the base files that they extend, which may lack keys of a plan."""
_DEVICES = {SERVER: "server or host"}
_CHOSEN = "Default: selected by rate, cage and length."
_EXAMPLE = "generic-400g"
_IN_WORDS = {"transceiver": "module"}
"""Kinds of parts that messages call by another name."""

ASSUMED = "x-assumption"
"""The keyword for the assumption that holds where a plan lacks the key."""
_REST = re.compile(r" \((?:bare|default)\b|[.:;] |\.$")
"""Ends the first words of a description."""

Schema = dict[str, Any]
T = TypeVar("T")
KEY = "key"
Key = Annotated[T, KEY]
"""The type of a field that has the value of the plan's key of the same name, read as the schema declares it."""


@cache
def document(name: str) -> dict[str, Any]:
    """Return the schema `name` (`plan`, `base`, `bom`, ...) from its file; for plans with all topologies and languages.

    Raises FileNotFoundError for another name.
    """
    if name not in (PLAN, BASE):
        return schemas.document(name)
    plan = schemas.document(PLAN)
    link, fabric, quote = plan["$defs"]["link"], plan["$defs"]["fabric"], plan["properties"]["quote"]
    properties, terms = fabric["properties"], quote["properties"]
    topology = properties["topology"] | {"enum": list(topologies())}
    options = {entry.name: entry.options for entry in describe_topologies() if entry.options}
    links = properties["links"] | {"properties": {kind.name: _links_of(kind, link) for kind in link_kinds().values()}}
    fabric = fabric | {"properties": properties | {"topology": topology, "links": links} | options}
    quote = quote | {"properties": terms | {"language": terms["language"] | {"enum": list(languages())}}}
    phase = plan["properties"][PHASES]["items"]["properties"]
    for key in OF_PHASE:  # a phase has some keys of a section, and need not have those that the plan must have
        section = quote if key == QUOTE else plan["properties"][key]
        phase[key] = {name: value for name, value in section.items() if name not in ("if", "else")} | phase[key]
    definitions = {key: value for key, value in plan["$defs"].items() if value is not link}
    schema = plan | {"$defs": definitions | {"fabric": fabric}, "properties": plan["properties"] | {"quote": quote}}
    if name == BASE:
        schema = {key: value for key, value in schema.items() if key not in ("required", "if", "else", "examples")}
        schema["title"] = "Parts that bomgen plans share"
    return schema


def check_plan_schema(source: Source) -> list[Problem]:
    """Return the violations of the schema of plans in a source, in file order; at most the first `MAX_PROBLEMS`."""
    return schemas.check_schema(source, PLAN, document)


def with_defaults(name: str) -> Schema:
    """Return `document(name)` with the value of its assumption as the default of each key that has one, for editors."""
    whole, catalog = document(name), Catalog()

    def laid(schema: Any) -> Any:
        if not isinstance(schema, dict):
            return schema
        copy = {key: laid(value) for key, value in schema.items()}
        declared = unfold(whole, schema)
        if assumption := next((part[ASSUMED] for part in declared if ASSUMED in part), None):
            value = catalog.find("assumption", assumption).value("value")
            yes_or_no = any(part.get("type") == "boolean" for part in declared)
            copy["default"] = value == "yes" if yes_or_no else float(value) if isinstance(value, Fraction) else value
        return copy

    result: Schema = laid(whole)
    return result


def _links_of(kind: LinkKind, link: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the links of a kind: as for any link, with a module per end where the ends differ."""
    schema = link | {"title": kind.title, "description": kind.description, "examples": [dict(kind.example)]}
    lower, upper = kind.ends
    if lower != upper:
        module = link["properties"]["module"]
        constraints = {key: value for key, value in module.items() if key not in ("title", "description", "type")}
        ends = {
            end: {
                "title": f"Module at the {end}",
                "description": f"Catalogue id of the module at the {_DEVICES.get(end, end)} end. {_CHOSEN}",
                "type": "string",
                **constraints,
            }
            for end in kind.ends
        }
        named = module | {
            "description": "Module at both ends: a catalogue id, or a mapping "
            f"{{{lower}: id, {upper}: id}} when the ends differ. {_CHOSEN}",
            "type": ["string", "object"],
            "minProperties": len((lower,)),
            "properties": ends,
            "additionalProperties": False,
            "examples": [_EXAMPLE, dict.fromkeys(kind.ends, _EXAMPLE)],
        }
        schema["properties"] = link["properties"] | {"module": named}
    return schema


# unknown parts ------------------------------------------------------------------------------------------------------
# Names in a plan that match no part of the catalogue, found without binding the plan, which may have other errors.


def unknown_parts(source: Source, catalog: Catalog) -> list[Problem]:
    """Return the values of a plan that the schema marks as ids and that match no part; at most the first ones.

    A server whose chassis several share is none of them: the plan's GPU decides which is meant.
    Raises PlanErrors for an invalid part file of the user.
    """
    schema = document(PLAN)
    problems = (
        Problem(source.mark(path), "error", message, "unknown-part", ".".join(map(str, path)))
        for path, kinds, name in _names(schema, schema, source.data, ())
        if (refused := _refusal(catalog, kinds, name)) and not refused.fits
        for message in (_unknown(refused, catalog, kinds, name),)
    )
    return list(islice(dict.fromkeys(problems), MAX_PROBLEMS))


def unknown_part(catalog: Catalog, kinds: Sequence[str], name: str) -> str | None:
    """Return what is wrong with a part name, given its possible kinds; None when it matches one."""
    refused = _refusal(catalog, kinds, name)
    return _unknown(refused, catalog, kinds, name) if refused else None


def _refusal(catalog: Catalog, kinds: Sequence[str], name: str) -> UnknownPart | None:
    """Return the error of the first of the kinds; None when the name matches a part of one."""
    errors = list[UnknownPart]()
    for kind in kinds:
        try:
            catalog.find(kind, name)
        except UnknownPart as error:
            errors.append(error)
        else:
            return None
    return errors[0]


def _unknown(refused: UnknownPart, catalog: Catalog, kinds: Sequence[str], name: str) -> str:
    """Return the message for a name that matches no part of its possible kinds."""
    if len(kinds) == 1:
        return str(refused)
    names = [id for kind in kinds for id in catalog.ids(kind)]
    first, *rest = kinds
    listed = " and ".join((f"`bomgen catalog {first}`", *(f"`{kind}`" for kind in rest)))
    hint = suggestion(name.lower(), names, f"{listed} list what there is")
    *those, last = (_IN_WORDS.get(kind, kind) for kind in kinds)
    return f"no {', '.join(those)} or {last} '{name}'; {hint}"


def _names(
    whole: dict[str, Any], schema: dict[str, Any], data: Any, path: Path
) -> Iterator[tuple[Path, Sequence[str], str]]:
    """Yield the places where a plan's data name parts, with the possible kinds and the names."""
    for unfolded in unfold(whole, schema):
        if isinstance(data, str) and data and IDS in unfolded:
            yield path, unfolded[IDS], data
        below = list[tuple[str | int, Any, Any]]()
        if isinstance(data, dict):
            keys = unfolded.get("properties", {})
            below = [(key, value, keys.get(key, unfolded.get("additionalProperties"))) for key, value in data.items()]
        elif isinstance(data, list):
            below = [(index, value, unfolded.get("items")) for index, value in enumerate(data)]
        for step, value, described in below:
            if isinstance(described, dict):
                yield from _names(whole, described, value, (*path, step))


# places -------------------------------------------------------------------------------------------------------------
# What the schema has for the keys and values at a place of a plan, for reading them, and for proposals to the user.


class Declaration:
    """What the schema declares of the value at a place of a plan."""

    def __init__(self, schemas: Sequence[Schema]) -> None:
        self.parts = [part for schema in schemas for part in unfold(document(PLAN), schema)]
        """All schemas of the value."""
        self._below = dict[Any, Declaration]()
        declared: Schema = {}
        for part in self.parts:
            declared = part | declared
        self.title = next((str(schema["title"]) for schema in schemas if "title" in schema), "")
        self.description = next((str(schema["description"]) for schema in schemas if "description" in schema), "")
        self.keys = dict.fromkeys(key for part in self.parts for key in part.get("properties", ()))
        self.kinds = list(dict.fromkeys(kind for part in self.parts for kind in part.get(IDS, ())))
        """The kinds of the catalogue whose ids are expected."""
        self.unit = str(declared.get("x-unit", "count" if "integer" in declared.get("type", ()) else "word"))
        """The unit that a number is read in; `word` for words."""
        self.zero = declared.get("minimum", 0) == 0 and "exclusiveMinimum" not in declared
        """Whether 0 is in the range."""
        self.assumption: str | None = declared.get(ASSUMED)
        """The assumption that holds where a plan lacks the key."""
        self.default = declared.get("default")
        """The value where a plan lacks the key, if that is no assumption."""

    def at(self, key: str | int | None) -> Declaration:
        """Return the declaration of a key, or of the items of a list."""
        slot = key if key in self.keys else str if isinstance(key, str) else int
        if slot not in self._below:
            branches = [
                part.get("properties", {}).get(key, part.get("additionalProperties"))
                if isinstance(key, str)
                else part.get("items")
                for part in self.parts
            ]
            self._below[slot] = Declaration([schema for schema in branches if isinstance(schema, dict)])
        return self._below[slot]

    @property
    def words(self) -> list[str]:
        """Return the permitted words, and the ids of the catalogue if one is expected."""
        words = [str(word) for part in self.parts for word in part.get("enum", ())]
        if any(part.get("type") == "boolean" for part in self.parts):
            words += ("true", "false")
        return list(dict.fromkeys([*words, *(id for kind in self.kinds for id in catalog_ids(kind))]))

    @property
    def comment(self) -> str:
        """Return a comment on the value: the beginning of its description, or its title."""
        begun = _REST.split(self.description)[0]
        return begun if begun[:1].isupper() else self.title

    @property
    def has_keys(self) -> bool:
        """Return whether keys follow: in a mapping, except of a part or model, which is usually given by name."""
        return not self.kinds and any(
            "properties" in part or isinstance(part.get("additionalProperties"), dict) for part in self.parts
        )


@cache
def _declaration_of_plans() -> Declaration:
    return Declaration([document(PLAN)])


def declaration_at(steps: Sequence[str | int | None] = ()) -> Declaration:
    """Return what the schema declares of the value at a path of keys, None for the items of a list."""
    declaration = _declaration_of_plans()
    for step in steps:
        declaration = declaration.at(step)
    return declaration


def catalog_ids(kind: str) -> list[str]:
    """Return the ids of a kind of the built-in catalogue, from its file names."""
    return sorted(path.stem for path in (folder("data") / kind).glob("*.yaml"))


# clusters -------------------------------------------------------------------------------------------------------------

CLUSTERS = "clusters"
OF_CLUSTER = ("workload", "fabrics", "storage", "site")
"""The keys of an entry besides those of `cluster`."""
PHASES = "phases"
QUOTE, DATE = "quote", "date"
OF_PHASE = ("cluster", "fabrics", "storage", "site", QUOTE)
"""The sections of a plan that a phase may change."""
COUNTED = (("racks",), ("management", "racks"), ("servers_per_rack",), ("feeds",), ("layout",))
"""Keys of a site that count or place machines: the whole plan cannot set them for each cluster."""


over_clusters = sum_of("over_clusters", "<amount>", "amount", "more_amount")
"""Sum over the clusters of a plan."""


def together(figures: Iterable[Figure | None]) -> Figure | None:
    """Return the sum over clusters of the known figures; None where no cluster has one."""
    known_figures = [figure for figure in figures if figure]
    return reduce(over_clusters, known_figures) if known_figures else None


def split(source: Source) -> list[tuple[str, Source]]:
    """Return the clusters of a plan, each with its name; a plan with one `cluster` is a single cluster without a name.

    The source must have passed the plan's schema. Raises PlanErrors for keys missing in the clusters, and for two
    clusters with the same name.
    """
    if CLUSTERS not in source.data:
        return [("", source)]
    if problems := list(_slips(source)):
        raise PlanErrors(sorted(problems, key=lambda problem: problem.mark))
    common = {key: value for key, value in source.data.items() if key != CLUSTERS}
    under = source._replace(data=common)
    return [
        (entry["name"], merged(under, _pool(source, at))._replace(files=source.files))
        for at, entry in enumerate(source.data[CLUSTERS])
    ]


def _slips(source: Source) -> Iterator[Problem]:
    for key in ("cluster", "workload", "fabrics", "storage"):
        if key in source.data:
            message = f"`{key}` cannot be combined with `{CLUSTERS}`; move it into each of them"
            yield Problem(source.key_mark((key,)), "error", message, CLUSTERS, key)
    if PHASES in source.data:
        message = f"`{PHASES}` needs a plan with one `cluster`; make each of the `{CLUSTERS}` a plan of its own"
        yield Problem(source.key_mark((PHASES,)), "error", message, CLUSTERS, PHASES)
    site = source.data.get("site") or {}
    for path in COUNTED:
        holder: Any = site
        for step in path[:-1]:
            holder = holder.get(step) or {}
        if path[-1] in holder:
            message = f"site.{'.'.join(path)} must be set per cluster with `{CLUSTERS}`; move it to the `site:` of each"
            yield Problem(source.key_mark(("site", *path)), "error", message, CLUSTERS, f"site.{'.'.join(path)}")
    first: dict[str, int] = {}
    for at, entry in enumerate(source.data[CLUSTERS]):
        name = entry["name"]
        if name in first:
            message = f"a second cluster '{name}', the first is in line {first[name]}; give it another name"
            yield Problem(source.mark((CLUSTERS, at, "name")), "error", message, CLUSTERS, CLUSTERS)
        first.setdefault(name, source.mark((CLUSTERS, at, "name")).line)


def _pool(source: Source, at: int) -> Source:
    """Return an entry of the list as a plan of its own, with its marks."""
    entry = source.data[CLUSTERS][at]
    paths = {key: (key,) if key in OF_CLUSTER else ("cluster", key) for key in entry if key != "name"}
    return _lift(source, (CLUSTERS, at), {"cluster": {}}, paths)


def _lift(source: Source, base: Path, data: dict[str, Any], paths: Mapping[str, Path]) -> Source:
    """Return the keys of an entry as a plan of its own, with their marks; `paths` are their places in that."""
    entry_mark = source.mark(base)
    keys: dict[Path, Mark] = {(key,): entry_mark for key in data}
    values: dict[Path, Mark] = {(): entry_mark, **keys}
    for key, path in paths.items():
        holder = data
        for depth, step in enumerate(path[:-1], 1):
            holder = holder.setdefault(str(step), {})
            values.setdefault(path[:depth], entry_mark)
        value = value_at(source.data, (*base, key))
        holder[str(path[-1])] = dict(value) if isinstance(value, dict) else value
    for marks, moved in ((source.keys, keys), (source.values, values)):
        for path, mark in marks.items():
            if path[: len(base)] == base and path[len(base) :] and path[len(base)] in paths:
                moved[(*paths[str(path[len(base)])], *path[len(base) + 1 :])] = mark
    return Source(source.file, "", data, keys, values)


# phases ---------------------------------------------------------------------------------------------------------------


def split_phases(source: Source, settings: Sequence[str] = ()) -> list[Source]:
    """Return the plan as it is with each of its phases, then the whole; a plan without phases is the whole.

    A phase has the keys of its entry and of those before it, and its date as that of the quote. The whole is the last
    phase with the quote of the plan; `settings`, which the source has, change it although a phase has the key. The
    source must have passed the plan's schema. Raises PlanErrors as `override`.
    """
    if PHASES not in source.data:
        return [source]
    phase = source._replace(data={key: value for key, value in source.data.items() if key != PHASES})
    phases, whole = list[Source](), source
    for at, entry in enumerate(source.data[PHASES]):
        designed: dict[str, Path] = {key: (key,) for key in OF_PHASE[:-1] if key in entry}
        priced: dict[str, Path] = {
            key: path for key, path in ((QUOTE, (QUOTE,)), (DATE, (QUOTE, DATE))) if key in entry
        }
        phase = merged(phase, _lift(source, (PHASES, at), {}, designed | priced))
        phases.append(phase._replace(files=source.files))
        whole = merged(whole, _lift(source, (PHASES, at), {}, designed))._replace(files=source.files)
    if settings:
        whole = override(whole, settings)
        data = {key: value for key, value in whole.data.items() if key != PHASES}
        quoted = phase._replace(data={key: value for key, value in phase.data.items() if key == QUOTE}, files=())
        phases[-1] = merged(whole._replace(data=data), quoted)
    return [*phases, whole]
