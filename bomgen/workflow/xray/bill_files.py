"""The bills that a user names: their bytes read as tables, and as lines."""

from __future__ import annotations

import re
from pathlib import Path

from bomgen.catalog.files import Catalog
from bomgen.core.yaml_source import encoded
from bomgen.reading.bills import SentBill, read_bill, require_whole
from bomgen.reading.list_columns import NOTHING, Asked
from bomgen.reading.part_numbers import PartIndex
from bomgen.reading.tables import is_pdf, read_pdf, read_tables
from bomgen.workflow.plan_files import PlanFile
from bomgen.workflow.xray.inspection import inspect
from bomgen.workflow.xray.plan_text import plan_text

TABLES = (".xlsx", ".xlsm", ".xls", ".ods", ".csv", ".tsv", ".pdf")
"""The suffixes of somebody's bill: no plan and no bom.json has them."""


def is_bill(name: str) -> bool:
    """Whether a name is that of somebody's bill."""
    return Path(name).suffix.lower() in TABLES


def plan_name(file: str) -> str:
    """The name of a plan, of that of a file."""
    return re.sub(r"[^a-z0-9]+", "-", Path(file).stem.lower()).strip("-") or "bill"


def rebuild_plan(content: bytes, file: str) -> PlanFile:
    """The plan that rebuilds somebody's bill, under the name of its file.

    Raises PlanErrors as `open_bill` and `plan_text`.
    """
    catalog = Catalog()
    text = plan_text(inspect(require_whole(open_bill(content, file, catalog)), catalog), plan_name(file), catalog)
    folder = Path().resolve()
    return PlanFile(file, encoded(text, file), folder, folder)


def open_bill(content: bytes, file: str, catalog: Catalog, asked: Asked = NOTHING) -> SentBill:
    """The bill in the bytes of a file; `asked` says what its columns are.

    Raises PlanErrors for a file that is no table, for one without a bill, and with a question about its columns.
    """
    tables = read_pdf(content, file) if is_pdf(content) else read_tables(content, file)
    return read_bill(tables, file, PartIndex(catalog), asked)
