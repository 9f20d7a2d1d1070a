"""`bomgen verify`: what was built against what was planned."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click

from bomgen.cli.build import choose_cluster, require_fabrics
from bomgen.cli.command import PASSED, ends_on_errors
from bomgen.cli.options import (
    choose_form,
    give,
    language_option,
    option,
    output_options,
    plan_argument,
    plan_options,
    proposed,
    read_given,
    refuse_overwriting,
    work_out_one,
    write_out,
)
from bomgen.core.language import language
from bomgen.workflow.pipeline import list_cables

FORMS = ("text", "md", "html", "xlsx", "csv", "json")


@click.command()
@plan_argument
@click.argument("files", nargs=-1, required=True, shell_complete=proposed("files"))
@option("--fabric fabrics NAME", "Compare only the cables of this fabric; repeatable.", "fabrics", multiple=True)
@option("--names FILE", "Table with the built and the planned name of devices, in its first two columns.", "files")
@option(
    "--error-rate RATE", "Report links with a higher bit error rate. [default: 1e-12]", type=click.FloatRange(min=0)
)
@option("--cluster cluster NAME", "Cluster to compare, if the plan has several.", "clusters")
@option("--all every", "Show every row of the list of work and of the names.")
@language_option("that of the quote")
@output_options(FORMS)
@plan_options
def verify(
    plan: str,
    files: tuple[str, ...],
    fabrics: tuple[str, ...],
    names: str | None,
    error_rate: float | None,
    cluster: str | None,
    every: bool,
    code: str | None,
    form: str | None,
    output: str | None,
    settings: tuple[str, ...],
    root: str | None,
) -> None:
    """Compare what was built with PLAN: FILES are saved outputs of switches, servers and fabric managers.

    The form of each file is recognised: ibnetdiscover, iblinkinfo, ibdiagnet and UFM topologies, LLDP neighbours of
    Linux, Cumulus, SONiC, EOS, NX-OS, Junos, H3C, Huawei and OS10, ibstat, mlxlink, ethtool -m, and tables with device
    and port at both ends. The name of a file is that of its device, unless HOST=FILE names another. Devices whose
    names are not in the plan are identified by their cables.

    \b
      bomgen verify plan.yaml ibnetdiscover.txt
      bomgen verify plan.yaml lldp/*.json --fabric storage -o work.xlsx

    Exit codes: 0 all as planned, 4 with findings.
    """  # noqa: D301 - the backslash is click's mark for lines that are not to be filled
    form = choose_form(form, output, FORMS, ("xlsx",))
    hosts = [
        ("", name) if Path(name).exists() else (host, file)
        for name in files
        for host, _, file in [name.rpartition("=")]
    ]
    for path in (plan, *(file for _, file in hosts), *filter(None, (names,))):
        refuse_overwriting(output, path)
    from bomgen.verify.contents import verification_data, verification_document, work_csv  # which load NumPy
    from bomgen.verify.findings import USUAL_ERROR_RATE
    from bomgen.verify.findings import verify as compare
    from bomgen.verify.reading import MOST_BYTES, read_names, read_outputs

    _, report = work_out_one(plan, root, settings)
    report = choose_cluster(report, cluster)
    require_fabrics(report, fabrics)
    with ends_on_errors():
        as_built = read_outputs((host, file, read_given(file, "output", MOST_BYTES)) for host, file in hosts)
        given = read_names(read_given(names, "table of names"), names) if names else {}
        verification = compare(as_built, list_cables(report, fabrics), given, error_rate or USUAL_ERROR_RATE)
    words = language(code or report.plan.quote.language)
    if form == "csv":
        write_out(work_csv(verification), output)
    elif form == "json":
        data = verification_data(verification, report.plan.name)
        write_out((json.dumps(data, ensure_ascii=False, indent=1) + "\n").encode("utf-8", "replace"), output)
    else:
        give(verification_document(verification, report.plan.name, words), words, form, output, every)
    if verification.has_findings:
        sys.exit(PASSED)
