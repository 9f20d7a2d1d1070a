"""Plans as trees: other ones by the keys of the schema, its examples, and values that somebody might write."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import deepcopy
from fractions import Fraction
from random import Random
from typing import Any

from bomgen.catalog.files import KINDS, Catalog
from bomgen.plan import schema as plan_schema

NUMBERS: tuple[Any, ...] = (
    *(0, 1, 2, 3, 4, 7, 8, 16, 31, 32, 63, 64, 127, 128, 400, 512, 800, 1000, 4096, 65_535, 10**6, 10**9, 10**13, -1),
    *(Fraction(1, 2), Fraction(1, 1000), Fraction(3, 2), Fraction(99, 100), Fraction(10**12 + 1, 10)),
)
TEXTS = (
    *(
        "0%",
        "1%",
        "50%",
        "100%",
        "101%",
        "1 m",
        "30 m",
        "5 km",
        "0 m",
        "400G",
        "800G",
        "1 kW",
        "10 MW",
        "80 GB",
        "1 TB/s",
    ),
    *(
        "1.4T",
        "65B",
        "1K",
        "20 days",
        "1 h",
        "18 months",
        "3:2",
        "auto",
        "default",
        "none",
        "",
        " ",
        "é",
        "<b>",
        "=1+1",
    ),
    *(
        "a.b",
        "x" * 300,
        "\u202e",
        "\x07",
        "2026-11-20",
        "2026-02-30",
        "9999-12-31",
        "USD",
        "EUR",
        "JPY",
        "XXX",
        "en",
        "zh",
    ),
    *("../prices/example-2026q4.yaml", "../prices/example-optics-2026q4.yaml", "../prices/example-h100-2026q4.yaml"),
    *("parts/", "../../etc", "/etc/passwd", "shared/example-research.yaml", "fat-tree", "rail-optimized", "dragonfly"),
)
VALUES: tuple[Any, ...] = (None, True, False, [], {}, *NUMBERS, *TEXTS)
MOST_DEPTH = 6

Schema = dict[str, Any]


def known() -> dict[str, list[str]]:
    """The ids of the catalogue by kind."""
    catalog = Catalog()
    return {kind: [record.id for record in catalog.all(kind)] for kind in KINDS}


class Plans:
    """What plans are made of."""

    def __init__(self, kept: list[dict[str, Any]]) -> None:
        self.kept = kept
        self.root = plan_schema.document("plan")
        self.ids = known()
        self.all_ids = sorted({id for ids in self.ids.values() for id in ids})

    def alternatives(self, described: Schema) -> list[Schema]:
        """The schemas that a value may keep to, references followed."""
        while "$ref" in described:
            target: Any = self.root
            for step in described["$ref"].removeprefix("#/").split("/"):
                target = target[step]
            described = target | {key: value for key, value in described.items() if key != "$ref"}
        found = [described] if "properties" in described or "type" in described or "enum" in described else []
        for word in ("oneOf", "anyOf", "allOf"):
            found += [each for choice in described.get(word, ()) for each in self.alternatives(choice)]
        found += [
            each
            for word in ("then", "else")
            if isinstance(described.get(word), dict)
            for each in self.alternatives(described[word])
        ]
        return found or [described]

    def properties(self, described: Schema) -> dict[str, Schema]:
        """The keys that a mapping may have."""
        found: dict[str, Schema] = {}
        for each in self.alternatives(described):
            found |= {key: value for key, value in each.get("properties", {}).items() if isinstance(value, dict)}
        return found

    def value(self, random: Random, described: Schema, key: str, depth: int = 0) -> Any:
        """A value that a schema describes, or nearly."""
        chosen = random.choice(self.alternatives(described))
        if "const" in chosen:
            return chosen["const"]
        if "enum" in chosen:
            return random.choice(chosen["enum"])
        if chosen.get("examples") and random.random() < 0.6:
            return deepcopy(random.choice(chosen["examples"]))
        if random.random() < 0.1:
            return random.choice(VALUES)
        kind = chosen.get("type")
        kind = random.choice(kind) if isinstance(kind, list) else kind
        match kind:
            case "object" if depth < MOST_DEPTH:
                properties = self.properties(chosen)
                wanted = list(chosen.get("required", ()))
                wanted += random.sample(sorted(properties), min(len(properties), random.randint(0, 3)))
                made = {name: self.value(random, properties.get(name, {}), name, depth + 1) for name in wanted}
                inner = chosen.get("additionalProperties")
                if isinstance(inner, dict) and random.random() < 0.7:
                    made[random.choice((*self.all_ids, "a", "compute"))] = self.value(random, inner, key, depth + 1)
                return made
            case "array" if depth < MOST_DEPTH:
                inner = chosen.get("items", {})
                return [self.value(random, inner, key, depth + 1) for _ in range(random.randint(1, 3))]
            case "integer" | "number":
                low = chosen.get("minimum", 0)
                return random.choice((low, low + 1, *NUMBERS))
            case "boolean":
                return random.random() < 0.5
            case "null":
                return None
        return self.word(random, key)

    def word(self, random: Random, key: str) -> Any:
        """A text: an id of the kind that the key names, of any kind, or anything."""
        if key in self.ids and random.random() < 0.7:
            return random.choice(self.ids[key])
        if random.random() < 0.3:
            return random.choice(self.all_ids)
        return random.choice(TEXTS)

    def places(self, data: Any, described: Schema, key: str = "") -> Iterator[tuple[Any, str, Schema, Any, Any]]:
        """Every value with its key, its schema, and where it stands."""
        if isinstance(data, dict):
            properties = self.properties(described)
            other = next(
                (
                    each["additionalProperties"]
                    for each in self.alternatives(described)
                    if isinstance(each.get("additionalProperties"), dict)
                ),
                {},
            )
            for name, value in data.items():
                inner = properties.get(name, other)
                yield value, name, inner, data, name
                yield from self.places(value, inner, name)
        elif isinstance(data, list):
            inner = next(
                (each["items"] for each in self.alternatives(described) if isinstance(each.get("items"), dict)), {}
            )
            for at, value in enumerate(data):
                yield value, key, inner, data, at
                yield from self.places(value, inner, key)

    def changed(self, random: Random, plan: dict[str, Any]) -> dict[str, Any]:
        """A plan with one to four changes."""
        plan = deepcopy(plan)
        for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
            found = list(self.places(plan, self.root))
            if not found:
                return deepcopy(random.choice(self.kept))
            value, key, described, holder, at = random.choice(found)
            _CHANGES[random.randrange(len(_CHANGES))](self, random, value, key, described, holder, at)
        return plan

    def _other(self, random: Random, _value: Any, key: str, described: Schema, holder: Any, at: Any) -> None:
        holder[at] = self.value(random, described, key)

    def _any(self, random: Random, _value: Any, key: str, _described: Schema, holder: Any, at: Any) -> None:
        holder[at] = random.choice(VALUES) if random.random() < 0.5 else self.word(random, key)

    def _more(self, random: Random, value: Any, key: str, described: Schema, holder: Any, _at: Any) -> None:
        """A key or an entry more."""
        if isinstance(value, list):
            inner = next((each["items"] for each in self.alternatives(described) if "items" in each), {})
            value.append(
                deepcopy(random.choice(value)) if value and random.random() < 0.5 else self.value(random, inner, key)
            )
        elif isinstance(value, dict) and (free := sorted(self.properties(described).keys() - value.keys())):
            name = random.choice(free)
            value[name] = self.value(random, self.properties(described)[name], name)
        elif isinstance(holder, dict):
            name = random.choice(sorted(self.properties(self.root)))
            if name in self.root["properties"] and "name" in holder:
                holder.setdefault(name, self.value(random, self.root["properties"][name], name))

    def _less(self, _random: Random, _value: Any, _key: str, _described: Schema, holder: Any, at: Any) -> None:
        del holder[at]

    def _taken(self, random: Random, _value: Any, key: str, _described: Schema, holder: Any, at: Any) -> None:
        """What another plan has at this key."""
        other = random.choice(self.kept)
        alike = [value for value, name, _, _, _ in self.places(other, self.root) if name == key]
        holder[at] = deepcopy(random.choice(alike)) if alike else random.choice(VALUES)

    def _nudged(self, random: Random, value: Any, key: str, described: Schema, holder: Any, at: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, int | Fraction):
            self._other(random, value, key, described, holder, at)
            return
        by = random.choice((2, 3, 10, 1000, Fraction(1, 2), Fraction(1, 10)))
        number = Fraction(random.choice((value + 1, value - 1, value * by, value + by)))
        holder[at] = number.numerator if number.denominator == 1 else number

    def _renamed(self, random: Random, value: Any, _key: str, _described: Schema, holder: Any, at: Any) -> None:
        if isinstance(holder, dict):
            del holder[at]
            holder[random.choice((f"{at}s", "a", "compute", "default", *self.all_ids[:5]))] = value


_CHANGES: tuple[Callable[..., None], ...] = (
    *(Plans._other, Plans._other, Plans._more, Plans._more, Plans._more, Plans._any, Plans._less, Plans._taken),
    *(Plans._taken, Plans._nudged, Plans._nudged, Plans._renamed),
)
