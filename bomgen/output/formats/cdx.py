"""bom.cdx.json: the bill as a CycloneDX 1.6 hardware BOM (ECMA-424), for inventory programs.

A component is a line of bom.json, in the assembly it is built into; spare pieces are separate components, so that
quantities add up. Properties beginning with `cdx:` are from the CycloneDX property taxonomy, those beginning with
`bomgen:` are described in docs/templates.md. Prices are omitted: the standard has no field for them, and a BOM may be
passed on to third parties.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, uuid5

from bomgen import __version__
from bomgen.catalog.files import Record
from bomgen.core.provenance import Figure, json_value
from bomgen.plan.commercial_terms import SERVICE, SOFTWARE
from bomgen.pricing.bill_line import Line
from bomgen.results.result import Report, digest, one_line

if TYPE_CHECKING:
    from bomgen.output.registry import DocumentInputs

ABOUT = "The bill as a CycloneDX hardware BOM."
FILE = "bom.cdx.json"
BINARY = False
VERSION = "1.6"
"""CycloneDX version: the newest that current tools read without an update; also valid as 1.7."""
FUNCTIONS = {
    **dict.fromkeys(("gpu", "server"), "compute"),
    **dict.fromkeys(("nic", "switch", "transceiver", "cable"), "network"),
    "storage": "storage",
    "rack": "housing",
    "pdu": "power distribution",
    "management": "management",
}
"""Function of the hardware of each category."""
_ADDRESS = re.compile(
    r"https?://[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:[0-9]+)?"
    r"(/([A-Za-z0-9._~!$&'()*+,;=:@/-]|%[0-9A-Fa-f]{2})*)?"
    r"(\?([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
    r"(#([A-Za-z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})*)?"
)
"""An address allowed as a link: RFC 3986, http or https only, so that no link runs anything."""

Data = dict[str, Any]


def write(source: DocumentInputs) -> bytes:
    """Return the file, byte-identical for the same result."""
    return bom_cdx(source.report)


def bom_cdx(report: Report) -> bytes:
    """Return the bill as CycloneDX JSON, UTF-8, in a fixed order; its serial number derives from plan and result."""
    root = f"plan:{report.plan.name}"
    records = {(record.kind, record.id): record for record in report.records}
    parts = [line for line in _lines(report) if line.category != SERVICE]
    services = [_service(line) for line in _lines(report) if line.category == SERVICE]
    components = [
        component
        for cluster, lines in groupby(parts, key=lambda line: line.cluster)
        for component in _cluster(cluster, list(lines), report, records)
    ]
    data: Data = {
        "$schema": f"http://cyclonedx.org/schema/bom-{VERSION}.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": VERSION,
        "version": 1,
        "metadata": _metadata(report, root),
        "components": components,
        "services": services,
        "dependencies": list(_dependencies(root, components)),
    }
    if not services:
        del data["services"]
    named = {}
    for key, value in data.items():
        named[key] = value
        if key == "specVersion":
            named["serialNumber"] = uuid5(NAMESPACE_URL, f"bomgen:{digest(_json(data))}").urn
    return _json(named)


def _json(data: Data) -> bytes:
    return (json.dumps(data, ensure_ascii=False, indent=1, allow_nan=False) + "\n").encode()


def _lines(report: Report) -> list[Line]:
    """Return the lines of the bill grouped by cluster, and within it by fabric."""
    lines = [priced.line for priced in report.quote.all_lines]
    places = {place: at for at, place in enumerate(dict.fromkeys((line.cluster, line.fabric) for line in lines))}
    clusters = {cluster: at for at, cluster in enumerate(dict.fromkeys(line.cluster for line in lines))}
    return sorted(lines, key=lambda line: (clusters[line.cluster], places[line.cluster, line.fabric]))


def _metadata(report: Report, root: str) -> Data:
    """Return the subject of the BOM and the program; the date is that of the quote, not the clock."""
    plan = report.plan
    cluster: Data = {"type": "device", "bom-ref": root, "name": plan.title or plan.name}
    if plan.quote.revision:
        cluster["version"] = plan.quote.revision
    cluster["properties"] = _properties(
        ("bomgen:plan", plan.name),
        ("bomgen:plan:sha256", report.sha256),
    )
    data: Data = {"timestamp": f"{plan.quote.date}T00:00:00Z"} if plan.quote.date else {}
    data |= {
        "lifecycles": [{"phase": "design"}],
        "tools": {"components": [{"type": "application", "name": "bomgen", "version": __version__}]},
        "component": cluster,
    }
    if plan.quote.vendor:
        data["supplier"] = {"name": plan.quote.vendor.name}
    return data


def _cluster(
    cluster: str, lines: list[Line], report: Report, records: Mapping[tuple[str, str], Record]
) -> Iterator[Data]:
    """Yield the components of a cluster, inside a cluster component if the plan has several."""
    inside = [
        component
        for fabric, of_fabric in groupby(lines, key=lambda line: line.fabric)
        for component in _fabric(cluster, fabric, list(of_fabric), report, records)
    ]
    if not cluster:
        yield from inside
        return
    yield {
        "type": "device",
        "bom-ref": f"cluster:{cluster}",
        "name": f"{cluster} cluster",
        "components": inside,
        "properties": _properties(("bomgen:cluster", cluster)),
    }


def _fabric(
    cluster: str, fabric: str | None, lines: list[Line], report: Report, records: Mapping[tuple[str, str], Record]
) -> Iterator[Data]:
    """Yield the components of a fabric inside a fabric component; others individually."""
    inside = [component for line in lines for component in _pieces(line, report, records)]
    if fabric is None:
        yield from inside
        return
    known = [
        (built.plan.role, built.fabric.topology)
        for each in report.each_cluster
        for built in each.design.fabrics
        if (each.plan.cluster_name, built.plan.name) == (cluster, fabric)
    ]
    role, topology = known[0] if known else (None, None)
    yield {
        "type": "device",
        "bom-ref": "fabric:" + (f"{cluster}.{fabric}" if cluster else fabric),
        "name": f"{fabric} fabric",
        "components": inside,
        "properties": _properties(
            ("cdx:device:function", FUNCTIONS["switch"]),
            ("bomgen:cluster", cluster),
            ("bomgen:fabric", fabric),
            ("bomgen:role", role),
            ("bomgen:topology", topology),
        ),
    }


def _pieces(line: Line, report: Report, records: Mapping[tuple[str, str], Record]) -> Iterator[Data]:
    installed, spare = int(line.quantity.value), int(line.spare.value) if line.spare else 0
    if installed or not spare:
        yield _component(line, line.id, installed, False, report, records)
    if spare:
        yield _component(line, f"spare:{line.id}", spare, True, report, records)


def _component(
    line: Line, ref: str, quantity: int, spare: bool, report: Report, records: Mapping[tuple[str, str], Record]
) -> Data:
    data: Data = {"type": "application" if line.category == SOFTWARE else "device", "bom-ref": ref}
    if line.vendor:
        data |= {"manufacturer": {"name": line.vendor}, "group": line.vendor}
    if report.plan.quote.vendor:
        data["supplier"] = {"name": report.plan.quote.vendor.name}
    data["name"] = line.description
    if line.charge and line.charge.years:
        licence = {"name": line.description, "licensing": {"licenseTypes": ["subscription"]}}
        data["licenses"] = [{"license": licence}]
    record = records.get((line.identity.kind, line.identity.id)) if line.identity else None
    sources = record.references(list(record.data.get("sources") or {})) if record else ()
    if documents := [source for source in sources if source.url and _ADDRESS.fullmatch(source.url)]:
        data["externalReferences"] = [
            {"type": "documentation", "url": source.url, "comment": source.title} for source in documents
        ]
    place = [step for step in (line.cluster, line.fabric, line.role) if step]
    data["properties"] = _properties(
        ("cdx:device:quantity", str(quantity)),
        ("cdx:device:function", FUNCTIONS.get(line.category)),
        ("cdx:device:location", " / ".join(place) if line.category in FUNCTIONS else None),
        ("cdx:device:deviceType", line.category if line.category in FUNCTIONS else None),
        ("cdx:device:sku", line.sku),
        *_line_properties(line),
        ("bomgen:spare", "true" if spare else None),
        ("bomgen:explain", _why(line.spare if spare and line.spare else line.quantity)),
    )
    return data


def _service(line: Line) -> Data:
    quantity = ("bomgen:quantity", str(line.pieces))
    properties = _properties(quantity, *_line_properties(line), ("bomgen:explain", _why(line.quantity)))
    return {"bom-ref": line.id, "name": line.description, "properties": properties}


def _why(quantity: Figure) -> str:
    return one_line(quantity, lambda figure: str(json_value(figure.value)))


def _line_properties(line: Line) -> Iterator[tuple[str, str | None]]:
    """Yield the properties that identify the line in bom.json, and its details."""
    numbers = (line.sku or "").split(" / ")
    has_number = line.identity is not None and line.identity.part_number is not None
    yield "bomgen:line", line.id
    yield "bomgen:category", line.category
    yield "bomgen:cluster", line.cluster
    yield "bomgen:fabric", line.fabric
    yield "bomgen:role", line.role
    yield "bomgen:part", line.part
    yield "bomgen:part_number", numbers[0] if has_number else None
    yield "bomgen:ordering_number", numbers[-1] if len(numbers) > int(has_number) else None
    yield "bomgen:in_stock", "true" if line.in_stock else None


def _dependencies(ref: str, inside: Iterable[Data]) -> Iterator[Data]:
    """Yield the components of each assembly. The components of parts are unknown, so parts have no entry."""
    held = list(inside)
    if held:
        yield {"ref": ref, "dependsOn": [each["bom-ref"] for each in held]}
    for each in held:
        yield from _dependencies(each["bom-ref"], each.get("components", ()))


def _properties(*pairs: tuple[str, str | None]) -> list[Data]:
    return [{"name": name, "value": value} for name, value in pairs if value]
