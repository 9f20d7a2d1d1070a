"""The grammar of optics and cables: what the words `400G DR4 LPO, QSFP112, MPO12/APC, 500 m` say of a part.

The words are data, `data/link-words.yaml`. In a user's part file, words such as `QSFP-DD`, `SMF` or `MPO-12/APC` become
the value that the schema has, so that nothing else compares spellings; other words of a field are data,
`data/trade-words.yaml`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any, NamedTuple

from bomgen.core.yaml_source import Source, read_data

FILE = "link-words.yaml"
KEPT = 10_000
"""Number of texts whose words are cached."""
TRANSCEIVER, CABLE = "transceiver", "cable"
FIBRE, TWIN = "fibre", 2
SINGLE_MODE, MULTIMODE = "single-mode", "multimode"
SHORT = ("s", "v")
"""First letters of optics over multimode fibre; all others are over single-mode (IEEE 802.3)."""
LANES: Mapping[str, Mapping[int, str]] = {
    "sr": {40: "4", 100: "4", 200: "4", 400: "4", 800: "8"},
    "vr": {400: "4", 800: "8"},
    "dr": {100: "1", 400: "4", 800: "8"},
    "fr": {100: "1", 200: "4", 400: "4"},
    "lr": {40: "4", 100: "4", 400: "4"},
}
"""Lanes that an optic without a number has, by rate [Gb/s]: 100G SR is SR4, 10G SR has one lane."""
PARALLEL, PARALLEL_OPTICS = "mpo-12", {SINGLE_MODE: "dr4", MULTIMODE: "sr4"}
"""The connector of four lanes each way, and the optics with it (IEEE 802.3)."""
QSFP = "qsfp"
QSFP_RATES: Mapping[int, str] = {40: "qsfp28", 100: "qsfp28", 200: "qsfp56", 400: "qsfp112"}
"""Form that `QSFP` means, by rate [Gb/s]."""
_SPACED = re.compile(r"(?<=[\u3400-\u9fff])(?=[!-~])|(?<=[!-~])(?=[\u3400-\u9fff])")
_INCLUDED = re.compile(r"(?<=.)含|\bincl")
"""What a text names after it is inside the part, such as two cables in the box of a switch."""
_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−_", "-") | {"×": "x", "*": "x"})
_RATE = re.compile(
    r"(?<![\w.])(?:([1248])\s*x\s*)?(\d{1,4}(?:\.\d)?)\s*(g|t)(?:be|b/s|bps|bit/s|base|b)?(?=-|/|\b|x|[sdlfv]r)"
)
RATES = (1, 10, 25, 40, 50, 100, 200, 400, 800, 1600)
_LENGTH = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(?:m|meters?|metres?|米)(?![\w/])")
_REACH = re.compile(r"(?:\bup to|\bmax(?:imum)?|\breach|传输距离|最大)\s*:?\s*(\d+(?:\.\d+)?)\s*(k?)m\b")
_SPLIT = re.compile(r"(?:\bto\b|->|→|对|转|接)\s*([248])\s*(?:x|个|\b)|\b1 ?(?:to|:|x|分) ?([248])\b")
KILO = 1000
TRADE_WORDS = "trade-words.yaml"
_LOCAL = "#/$defs/"
_IGNORED = re.compile(r"[\W_]+")


class LinkWords(NamedTuple):
    """What a text says of a module or cable; empty, 0 or None where it says nothing."""

    kind: str = ""
    gbps: int = 0
    """Rate of a module, or of the near end of a cable."""
    ports: int = 0
    """Engines of a module."""
    optic: str = ""
    """Optic of an engine: `dr4`."""
    forms: tuple[str, ...] = ()
    """Form factors in the order of the text; those of a cable at both ends."""
    top: str = ""
    fibre: str = ""
    connector: str = ""
    polish: str = ""
    medium: str = ""
    ends: int = 1
    """Far ends of a breakout cable."""
    length_m: Fraction | None = None
    reach_m: Fraction | None = None

    @property
    def cage(self) -> str:
        """Return the cage that the words name for a module: `osfp-flat`."""
        form = self.forms[0] if self.forms else ""
        if form == QSFP:
            form = QSFP_RATES.get(self.gbps, "")
        return f"{form}-{self.top}" if form == "osfp" and self.top else form


@lru_cache(maxsize=KEPT)
def read_link_words(text: str) -> LinkWords:
    """Return what a text says of a module or cable; its kind is empty if it is of neither."""
    text = unicodedata.normalize("NFKC", text).lower().translate(_DASHES)
    text = " ".join(_SPACED.sub(" ", _INCLUDED.split(text)[0]).split())
    medium, fibre = _first("medium", text), _only("fibre", text)
    connector = _first("connector", text)
    gbps, ports = _rate(text)
    optic, engines = "", 0
    spans = sorted((match.start(), -match.end(), form) for form, match in _matches("form", text, every=True))
    forms = tuple(form for _, _, form in spans)
    for reach, match in _matches("optic", text):
        said = match.groupdict()
        engines = int(said.get("count") or 0)
        optic = f"{reach}{said.get('lanes') or LANES.get(reach, {}).get(gbps // max(engines, 1), '')}"
        break
    said_ports = _only("ports", text)
    per_port = ports == 0 and not _RATE.search(text)  # `NDR` alone is the rate of a port
    ports = engines or int(said_ports or 0) or (ports if optic or forms else 0)
    gbps *= ports if per_port and ports == TWIN else 1
    if optic.endswith("8") and ports == TWIN:  # a twin-port DR8 is two DR4
        optic = f"{optic[:-1]}4"
    if fibre and connector and not (medium or optic or forms or gbps):
        medium = FIBRE
    kind = _kind(text, medium, optic, bool(forms and gbps))
    if kind == TRANSCEIVER and not optic and fibre and connector == PARALLEL:
        optic = PARALLEL_OPTICS[fibre]
    if optic and kind == TRANSCEIVER:
        medium, fibre = "", fibre or (MULTIMODE if optic.startswith(SHORT) else SINGLE_MODE)
        ports = ports or 1
    polishes = _only("polish", text)
    split = _SPLIT.search(text) if kind == CABLE else None
    reach_said = _REACH.search(text)
    lengths = {Fraction(metres) for metres in _LENGTH.findall(_REACH.sub(" ", text))} if kind == CABLE else set()
    reach_m = Fraction(reach_said[1]) * (KILO if reach_said[2] else 1) if reach_said else None
    return LinkWords(
        kind=kind,
        gbps=gbps,
        ports=ports,
        optic=optic if kind == TRANSCEIVER else "",
        forms=forms,
        top=_only("top", text),
        fibre=fibre,
        connector=connector,
        polish=polishes,
        medium=medium if kind == CABLE else "",
        ends=int(split[1] or split[2]) if split else 1,
        length_m=lengths.pop() if len(lengths) == 1 else None,
        reach_m=reach_m,
    )


def _kind(text: str, medium: str, optic: str, is_rated: bool) -> str:
    is_module = any(True for _ in _matches("module", text))
    if medium and not (is_module and optic) and not (optic and medium == FIBRE and is_rated):
        return CABLE
    if optic and (is_rated or is_module):
        return TRANSCEIVER
    is_device = any(True for _ in _matches("device", text)) and not is_module
    return TRANSCEIVER if (optic or is_rated) and not is_device else ""


def _rate(text: str) -> tuple[int, int]:
    """Return the highest rate [Gb/s] that a text names, and the ports that it is of; 0 for what it does not say."""
    rates = list[tuple[int, int]]()
    for match in _RATE.finditer(text):
        gbps = round(float(match[2]) * (KILO if match[3] == "t" else 1))
        if gbps in RATES:
            rates.append((gbps * int(match[1] or 1), int(match[1] or 0)))
    if not rates:
        for gbps_said, match in _matches("generation", text):
            rates.append((int(gbps_said) * int(match[1] or 1), int(match[1] or 0)))
        rates += [(int(gbps_said), 0) for gbps_said, _ in _matches("rate", text)]
    most = max(rates, default=(0, 0))[0]
    return most, max((ports for gbps, ports in rates if gbps == most), default=0)


def _first(group: str, text: str) -> str:
    return next((name for name, _ in _matches(group, text)), "")


def _only(group: str, text: str) -> str:
    names = dict.fromkeys(name for name, _ in _matches(group, text))
    return next(iter(names)) if len(names) == 1 else ""


def _matches(group: str, text: str, every: bool = False) -> Iterator[tuple[str, re.Match[str]]]:
    for name, words in _words()[group].items():
        for word in words:
            if every:
                yield from ((name, match) for match in word.finditer(text))
            elif match := word.search(text):
                yield name, match


@cache
def _words() -> Mapping[str, Mapping[str, tuple[re.Pattern[str], ...]]]:
    return {
        group: {str(name): tuple(map(re.compile, words)) for name, words in names.items()}
        for group, names in read_data(FILE).items()
    }


def with_canonical_words(source: Source, schema: Mapping[str, Any]) -> Source:
    """Return the source of a part file with the values of its schema in place of other words for them."""
    return source._replace(data=_canonical(source.data, schema, schema.get("$defs", {}), ""))


def _canonical(data: Any, schema: Mapping[str, Any], defs: Mapping[str, Any], field: str) -> Any:
    if "$ref" in schema:
        schema = defs.get(str(schema["$ref"]).removeprefix(_LOCAL), {})
    if isinstance(data, dict):
        below, data = schema.get("properties", {}), _divide_optic(data)
        return {key: _canonical(value, below.get(key, {}), defs, str(key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_canonical(item, schema.get("items", {}), defs, field) for item in data]
    if isinstance(data, str) and data not in schema.get("enum", (data,)):
        return _word(data, tuple(schema["enum"]), field)
    return data


def _divide_optic(data: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of a module whose optic is written with its engines, such as 2xDR4, with both by themselves."""
    optic = read_link_words(f"{data.get('rate_gbps', '')}G {data['optic']} module") if "optic" in data else None
    if optic is None or optic.ports < TWIN or _form(str(data["optic"])) == _form(optic.optic):
        return data
    ports = data.get("ports", optic.ports)
    return {**data, "optic": optic.optic, "ports": ports} if ports == optic.ports else data


def _word(written: str, values: tuple[Any, ...], field: str) -> str:
    """Return the value that a word means in a field; the word itself if it means none, which the schema refuses."""
    form = _form(written)
    spelled = next((value for value in values if isinstance(value, str) and _form(value) == form), None)
    meant = spelled or _meanings(field).get(form, written)
    return meant if meant in values else written


def _form(word: str) -> str:
    """Return a word without case, spaces and punctuation; a plus sign tells SFP+ from SFP."""
    return _IGNORED.sub("", word.lower().replace("+", "plus"))


@cache
def _meanings(field: str) -> Mapping[str, str]:
    words = read_data(TRADE_WORDS).get("connector" if field == "far_connector" else field, {})
    return {_form(word): value for value, synonyms in words.items() for word in synonyms}
