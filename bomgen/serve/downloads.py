"""Files of a result: every format, the list of parts without a price, and the report to share."""

from __future__ import annotations

import mimetypes
from base64 import b64encode
from collections.abc import Mapping
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from bomgen.core.messages import message
from bomgen.output.price_list_reading import written
from bomgen.output.registry import DOCUMENTS, PRICE_LISTS, WIRINGS, DocumentInputs, Unsuitable, choose_documents
from bomgen.output.writer import OutputError, render, write_wiring
from bomgen.results.result import Report
from bomgen.results.warnings import INFINIBAND
from bomgen.serve.requests import plan_of
from bomgen.serve.workspace import Refused, Request, Workspace, pack
from bomgen.workflow.pipeline import compute_fabric, list_cables, list_unpriced_parts, work_out

Data = dict[str, Any]

WIRING = "wiring-"
"""Prefix of the formats of cable lists, as in wiring-csv."""
UNPRICED = "unpriced-"
"""Prefix of the forms of price lists, as in unpriced-csv: the parts without a price, to be filled in."""
SENT = ("quote.pdf", "quote.xlsx", "quote.html")
"""Files that a customer gets."""
ADDRESSED = ("customer", "vendor", "date")
"""What a quote says of whose it is and of when, without which it can be written and not sent."""
ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""The earliest time that an archive can hold, so that equal files give equal archives."""


def download(workspace: Workspace, request: Request) -> Data:
    """Return the file of a format, as `bomgen build`, `wiring` or `prices` writes it; several files as an archive.

    Raises PlanErrors, and Refused for an unknown format and one that cannot hold this result.
    """
    form = request["format"]
    report = work_out(plan_of(workspace, request))
    try:
        if form.startswith(WIRING):
            files = wiring_files(report, form.removeprefix(WIRING))
        elif form.startswith(UNPRICED):
            files = _unpriced(report, form.removeprefix(UNPRICED))
        else:
            files = _documents(report, form)
    except (ValueError, Unsuitable, OutputError) as error:
        raise Refused(str(error)) from None
    if len(files) == 1:
        [(name, content)] = files.items()
    else:
        name, content = f"{report.plan.name}-{form.rpartition('.')[2]}.zip", archive(files)
    return file_data(name, content)


def file_data(name: str, content: bytes) -> Data:
    """Return a file as data: its name, type and content."""
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    return {"name": name, "type": kind, "base64": b64encode(content).decode("ascii")}


def formats(workspace: Workspace, request: Request) -> Data:
    """Return the files that a plan can have, those of the customer first, each with its description.

    A file of `bomgen build` has its name, so that a quote is not sent with the report of the engineer; one of
    `bomgen wiring` has its format. `missing` has what a customer needs and the quote does not say. Raises PlanErrors
    for an invalid plan.
    """
    report = work_out(plan_of(workspace, request))
    offered = [(file, form) for form in DOCUMENTS.names if _can_have(report, form) for file in DOCUMENTS.files(form)]
    offered.sort(key=lambda each: SENT.index(each[0]) if each[0] in SENT else len(SENT))
    listed = [{"format": file, "about": DOCUMENTS.constant(form, "ABOUT")} for file, form in offered]
    wirings = ((WIRING + name, about) for name, about in WIRINGS.described())
    listed += [{"format": form, "about": about} for form, about in wirings if _can_have(report, form)]
    quote = report.plan.quote
    return {
        "formats": listed,
        "missing": [name for name in ADDRESSED if getattr(quote, name) is None],
    }


def _can_have(report: Report, form: str) -> bool:
    """Return whether a format can hold a result, and has the package that it needs."""
    formats = WIRINGS if form.startswith(WIRING) else DOCUMENTS
    package = formats.constant(form.removeprefix(WIRING), "PACKAGE")
    if package and find_spec(package) is None:
        return False
    fabrics = [fabric for cluster in report.each_cluster for fabric in cluster.design.fabrics]
    if not form.startswith(WIRING):
        of_fabrics = "{name}" in DOCUMENTS.constant(form, "FILE")
        return bool(fabrics or not of_fabrics)
    if report.clusters or not fabrics:
        return False
    if not WIRINGS.constant(form.removeprefix(WIRING), "ONE_FABRIC"):
        return True
    one = [fabric for fabric in fabrics if fabric.plan.name in compute_fabric(report)]
    return bool(one) and all(tier.switch.protocol == INFINIBAND for tier in one[0].fabric.tiers)


def _documents(report: Report, form: str) -> dict[str, bytes]:
    choose_documents([form])
    return render(report._replace(templates=()), [form])


def wiring_files(report: Report, form: str) -> dict[str, bytes]:
    """Return the files of a cable list. Raises Refused for an unknown format."""
    if form not in WIRINGS.names:
        raise Refused(f"no format '{form}' of cable lists; there are {', '.join(WIRINGS.names)}")
    cables = list_cables(report, compute_fabric(report) if WIRINGS.constant(form, "ONE_FABRIC") else ())
    with TemporaryDirectory(prefix="bomgen-") as folder:
        place = Path(folder, f"{report.plan.name}-wiring.{form}")
        return {path.name: path.read_bytes() for path in write_wiring(cables, form, place, lambda _: None)}


def _unpriced(report: Report, form: str) -> dict[str, bytes]:
    """Return the list of parts without a price. Raises Refused for an unknown form, and where all have one."""
    if form not in PRICE_LISTS.names:
        raise Refused(f"no form '{form}' of price lists; there are {', '.join(PRICE_LISTS.names)}")
    if not (entries := list_unpriced_parts(report)):
        raise Refused(message("refused-all-priced"))
    return {f"{report.plan.name}-prices.{form}": written(entries, form)}


def archive(files: Mapping[str, bytes]) -> bytes:
    """Return files as one archive, with equal bytes for equal files."""
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archived:
        for name, content in files.items():
            archived.writestr(ZipInfo(name, ZIP_TIME), content, ZIP_DEFLATED)
    return out.getvalue()


def share(workspace: Workspace, request: Request) -> Data:
    """Return the report as a file to send, and the plan packed into text for the fragment of a link."""
    report = work_out(plan_of(workspace, request))
    source = DocumentInputs(report, ("html",))
    return {"html": source.html("report").decode("utf-8"), "packed": pack(request["text"])}
