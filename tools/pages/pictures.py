"""Draws pictures of the documentation with Chromium (`make docs`), and writes its samples: what bomgen shows today.

That of the README has a plan, its quote, and the reason of one of its numbers; the others are the anatomy of a
quote, the page of `bomgen serve`, and the findings about a bill. `drawings` are bomgen's own, without a browser; a test
compares them with the files.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import NamedTuple

from bomgen.core.document import QUOTE
from bomgen.core.language import language
from bomgen.output.drawing.racks import floor_svg, rack_svgs
from bomgen.output.face import FAMILIES
from bomgen.output.registry import DocumentInputs
from bomgen.results.result import Report
from bomgen.serve.calls import CALLS, Workspace, pack
from bomgen.workflow.pipeline import work_out
from bomgen.workflow.plan_files import open_plan

VIEW_BOX = re.compile('viewBox="([^"]+)"')
ROOT = Path(__file__).parents[2]
PICTURES = ROOT / "docs" / "pictures"
SAMPLES = ROOT / "docs" / "samples"
WIDTH, HEIGHT = 1200, 640
"""Pixels of the picture."""
QUOTE_WIDTH, QUOTE_HEIGHT = 860, 940
"""Pixels of the quote's top, which is scaled down."""
NUMBER = "workload.gpus_required"
STEPS, LONGEST = 5, 92
"""Lines of the reason that are shown, and characters of each."""
DESK, PHONE = (1440, 900), (390, 844)
"""Pixels of the page of `bomgen serve`."""
PATIENCE_MS = 20_000
"""Time that the page has to show a plan."""
DARK = "--blink-settings=preferredColorScheme=0"
PLAN = """\
bomgen: 1
name: train-70b
title: Training cluster for a 70B model

workload:
  training:
    model: llama-3-70b
    tokens: 3T
    target_days: 30
    mfu: 40%

cluster:
  gpu: h200-sxm
  server: dell-xe9680-h200

fabrics:
  compute:
    topology: rail-optimized
    switch: sn5600

quote:
  price_book: indicative
  customer: {name: Example Research}
  date: 2026-11-29
"""
BILL = """\
Part number,Description,Quantity,Unit price
DGXH-G640F,DGX H100,16,310000
MQM9700-NS2F,Quantum-2 switch,6,25000
MMA4Z00-NS-FLT,"twin-port OSFP module, flat",64,1000
MMA4Z00-NS,"twin-port OSFP module, finned",192,1000
MFP7E10-N030,"fibre, 30 m",240,140
"""
"""A bill with fewer fibres than its modules have links."""
BILL_SIZE = (980, 700)
"""Pixels of the findings."""
QUOTE_PLAN, OWN_PLAN = "llama65b-quote.yaml", "train-70b.yaml"
SERVED_PLANS = (QUOTE_PLAN, "h100-127.yaml", "h200-xe9680-vast.yaml", "llama70b-chat-latency.yaml")
"""Plans in the folder of the page."""
PLACE = "@quote@"
"""Where the picture of a quote goes into a page."""
PNG_HEADER = 33
"""Bytes of the signature and the header of a PNG."""
ANATOMY_WIDTH, ANATOMY_HEIGHT = 1100, 1240
"""Pixels of the anatomy: the quote with numbers, and what they stand for beside it."""
PARTS_OF_QUOTE = {
    "h1": "the project",
    ".bought": "what is sold, on one line",
    ".sides": "vendor and customer; number, dates, delivery, payment",
    ".total": "the total, what it covers, and what is missing",
    "#table-requirements-": "what was asked, what is offered, and how that is known",
    "#table-subtotals": "subtotals, tax and total",
    "#table-bill": "the bill: description, part number, quantity, price",
}
ANATOMY = """<!doctype html><meta charset="utf-8"><style>
@font-face {{ font-family: Inter; src: url(data:font/woff2;base64,{face}); }}
body {{ margin: 0; width: {width}px; height: {height}px; background: #eef1f5; font: 15px/22px Inter, sans-serif;
  color: #1b2430; display: flex; overflow: hidden; }}
img {{ width: 700px; align-self: start; margin: 24px; border: 1px solid #d5dbe3; background: #fff; }}
ol {{ margin: 56px 24px 0 0; padding: 0; list-style: none; }} li {{ margin-bottom: 20px; display: flex; gap: 12px; }}
b {{ flex: none; width: 24px; height: 24px; border-radius: 12px; background: #2850e0; color: #fff; text-align: center;
  font-weight: 400; }}
</style><img src="data:image/png;base64,{quote}"><ol>{parts}</ol>
"""
BADGE = """<style>body {{ counter-reset: part; }} {places} {{ position: relative; }}
{badges} {{ counter-increment: part; content: counter(part); position: absolute; right: calc(100% + 2px); top: 0;
  display: block; width: 20px; height: 20px; border-radius: 10px; background: #2850e0; color: #fff; text-align: center;
  font: 12px/20px Inter, sans-serif; letter-spacing: 0; }}</style></head>"""
GAP, EDGE = 24, 16
"""Units between drawings that stand below each other, and around them."""
PAGE = """<!doctype html><meta charset="utf-8"><style>
@font-face {{ font-family: Inter; src: url(data:font/woff2;base64,{face}); }}
* {{ box-sizing: border-box; }}
body {{ margin: 0; width: {width}px; height: {height}px; background: #eef1f5; font: 14px/20px Inter, sans-serif;
  color: #1b2430; position: relative; }}
section {{ position: absolute; background: #fff; border: 1px solid #d5dbe3; border-radius: 10px; overflow: hidden; }}
h1 {{ font-size: 12px; line-height: 16px; margin: 0; padding: 8px 16px; color: #5a6675;
  border-bottom: 1px solid #d5dbe3; }}
pre {{ font: 13px/20px "DejaVu Sans Mono", monospace; margin: 0; padding: 12px 16px; }}
pre b {{ color: #2850e0; font-weight: 400; }}
.plan {{ left: 32px; top: 32px; width: 380px; height: 576px; }}
.quote {{ left: 476px; top: 32px; width: 692px; height: 400px; }}
.quote img {{ width: 690px; height: 364px; display: block; object-fit: cover; object-position: 0 -36px; }}
.reason {{ left: 476px; top: 468px; width: 692px; height: 140px; border-color: #2850e0; }}
.reason pre {{ font-size: 11.5px; line-height: 18px; }}
svg {{ position: absolute; left: 0; top: 0; }}
</style>
<section class="plan"><h1>train-70b.yaml</h1><pre>{plan}</pre></section>
<section class="quote"><h1>quote.html, quote.pdf, quote.xlsx</h1><img src="data:image/png;base64,{quote}"></section>
<section class="reason"><h1>$ bomgen explain train-70b.yaml {number}</h1><pre>{reason}</pre></section>
<svg width="{width}" height="{height}" fill="none" stroke="#2850e0" stroke-width="2">
<path d="M420 96H464m-8 -6 8 6-8 6"/><path d="M494 192H536M494 192C444 210 444 400 500 458m-3 -10 3 10-10-2"/></svg>
"""


def main() -> None:
    """Draw the pictures that are stale, and write the samples. Exits with 1 and the names of what was stale.

    With Chromium missing, it exits with what is missing.
    """
    stale = []
    for name, svg in drawings():
        if not is_drawing(PICTURES / name, svg):
            (PICTURES / name).write_text(svg, encoding="utf-8")
            stale.append(name)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for picture in screenshots():
            file = PICTURES / f"{picture.name}.png"
            if not picture.is_drawn_in(file):
                file.write_bytes(_label(picture.draw(folder), picture.digest))
                stale.append(file.name)
        _write_samples(folder)
    if stale:
        sys.exit(f"drawn anew, to be looked at and committed: {', '.join(stale)}")


def is_drawing(file: Path, text: str) -> bool:
    """Return whether a file holds a drawing."""
    return file.is_file() and file.read_text("utf-8") == text


def _label(png: bytes, digest: str) -> bytes:
    """Return a PNG with a digest of what it shows, as text behind its header."""
    text = b"tEXt" + b"Source\0" + digest.encode()
    chunk = struct.pack(">I", len(text) - len(b"tEXt")) + text + struct.pack(">I", zlib.crc32(text))
    return png[:PNG_HEADER] + chunk + png[PNG_HEADER:]


class Screenshot(NamedTuple):
    """A picture that Chromium draws of a page; `quote` is another page, which is shown in it as a picture."""

    name: str
    size: tuple[int, int]
    page: str
    """HTML; of the page of `bomgen serve`, everything that it shows."""
    quote: str = ""
    quote_size: tuple[int, int] = (0, 0)
    served: str | None = None
    """The plan that `bomgen serve` shows, none of it for its first page."""
    options: tuple[str, ...] = ()

    @property
    def digest(self) -> str:
        """The SHA-256 of all that decides how the picture looks."""
        return hashlib.sha256(repr(tuple(self)).encode()).hexdigest()

    def is_drawn_in(self, file: Path) -> bool:
        """Return whether a PNG shows this, by the digest that it carries."""
        return file.is_file() and self.digest.encode() in file.read_bytes()

    def draw(self, folder: Path) -> bytes:
        """Return the PNG; the folder takes pages on the way to Chromium."""
        if self.served is not None:
            return self._draw_served(folder)
        quote = _screenshot(_save(folder, self.quote), folder, *self.quote_size) if self.quote else b""
        page = self.page.replace(PLACE, base64.b64encode(quote).decode())
        return _screenshot(_save(folder, page), folder, *self.size)

    def _draw_served(self, folder: Path) -> bytes:
        for plan in SERVED_PLANS:
            (folder / plan).write_bytes((ROOT / "plans" / plan).read_bytes())
        command = [sys.executable, "-m", "bomgen", "serve", str(folder), "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            opened = f"{address}#plan={pack(self.served)}" if self.served else address
            waits = f"--virtual-time-budget={PATIENCE_MS}"
            return _screenshot(opened, folder, *self.size, waits, *self.options)
        finally:
            server.terminate()
            server.wait()


def screenshots() -> Iterator[Screenshot]:
    """Yield the pictures that need a browser, as what they show."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / OWN_PLAN).write_text(PLAN, encoding="utf-8")
        (folder / "bill.csv").write_text(BILL, encoding="utf-8")
        quote = _quote(str(folder / OWN_PLAN))
        lines = _run(folder, "explain", OWN_PLAN, NUMBER, "--depth", "1", "-q").splitlines()
        steps = [line for line in lines if line[0] not in "│ "][:STEPS]
        _run(folder, "xray", "bill.csv", "-q", "-o", "findings.html")
        findings = (folder / "findings.html").read_text("utf-8")
        workspace, request = Workspace(folder), {"path": OWN_PLAN, "text": PLAN}
        answers = [CALLS["build"](workspace, {**request, "tabs": ["quote"]}), CALLS["form"](workspace, request)]
    page = PAGE.format(
        face=_face(),
        width=WIDTH,
        height=HEIGHT,
        plan=re.sub(r"(?m)^( *)([a-z_]+):", r"\1<b>\2</b>:", html.escape(PLAN)),
        quote=PLACE,
        number=NUMBER,
        reason=html.escape("\n".join(step if len(step) <= LONGEST else f"{step[:LONGEST]} …" for step in steps)),
    )
    yield Screenshot("plan-to-quote", (WIDTH, HEIGHT), page, quote, (QUOTE_WIDTH, QUOTE_HEIGHT))
    yield _anatomy()
    yield Screenshot("xray", BILL_SIZE, findings)
    files = (file for file in sorted((ROOT / "bomgen" / "serve" / "page").rglob("*")) if file.is_file())
    start = "\n".join(file.read_text("utf-8") for file in files)
    yield Screenshot("serve-start", DESK, start, served="")
    shown = f"{start}\n{json.dumps(answers, sort_keys=True)}"
    yield Screenshot("serve", DESK, shown, served=PLAN)
    yield Screenshot("serve-dark", DESK, shown, served=PLAN, options=(DARK,))
    yield Screenshot("serve-phone", PHONE, shown, served=PLAN)


def _quote(plan: str) -> str:
    return DocumentInputs(report_of(plan), (), language()).html(QUOTE).decode()


def drawings() -> Iterator[tuple[str, str]]:
    """Yield the drawings that bomgen makes of the plans of `plans/`: file name and SVG."""
    yield "fabric.svg", _stack(_fabrics(report_of("superpod-b200-16su.yaml")))
    grown = report_of("h100-two-phases.yaml")
    yield "growth.svg", _stack([svg for phase in grown.phases for svg in _fabrics(phase)])
    floor = report_of("superpod-h100-floor.yaml")
    yield "racks.svg", _stack([*_floor(floor), *_racks(floor)])
    yield "nvl72-rack.svg", _stack(_racks(report_of("superpod-gb200-su.yaml")))


def report_of(plan: str) -> Report:
    """Return what a plan of `plans/` comes to."""
    return work_out(open_plan(str(ROOT / "plans" / plan), None))


def _fabrics(report: Report) -> list[str]:
    inputs = DocumentInputs(report, (), language())
    return [inputs.draw(next(iter(inputs.fabrics)))]


def _floor(report: Report) -> list[str]:
    racks, site = report.elevations, report.plan.site
    return [floor_svg(racks, site, language())] if racks and site else []


def _racks(report: Report) -> list[str]:
    return [svg for _, svg in rack_svgs(report.elevations, language())][:1] if report.elevations else []


def _stack(svgs: Sequence[str]) -> str:
    """Return drawings below each other as one file."""
    sizes = [tuple(map(float, VIEW_BOX.search(svg)[1].split()[2:])) for svg in svgs]
    tops = [EDGE, *accumulate((height + GAP for _, height in sizes), initial=EDGE)][1:]
    width, height = max(width for width, _ in sizes) + 2 * EDGE, tops[-1] - GAP + EDGE
    placed = (
        svg.replace("<svg ", f'<svg x="{EDGE}" y="{top:g}" width="{size[0]:g}" height="{size[1]:g}" ', 1)
        for svg, size, top in zip(svgs, sizes, tops, strict=False)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" width="{width:g}" '
        f'height="{height:g}" color="#1b2430" font-family="{FAMILIES}"><rect width="100%" height="100%" fill="#fff"/>\n'
        f"{''.join(placed)}</svg>\n"
    )


def _anatomy() -> Screenshot:
    places, badges = ", ".join(PARTS_OF_QUOTE), ", ".join(f"{part}::before" for part in PARTS_OF_QUOTE)
    quote = re.sub(r"<meta http-equiv[^>]*>", "", _quote(QUOTE_PLAN))
    quote = quote.replace("</head>", BADGE.format(places=places, badges=badges), 1)
    parts = "".join(f"<li><b>{number}</b>{text}</li>" for number, text in enumerate(PARTS_OF_QUOTE.values(), 1))
    page = ANATOMY.format(face=_face(), width=ANATOMY_WIDTH, height=ANATOMY_HEIGHT, quote=PLACE, parts=parts)
    size = (QUOTE_WIDTH, round(ANATOMY_HEIGHT * QUOTE_WIDTH / 700))
    return Screenshot("quote-anatomy", (ANATOMY_WIDTH, ANATOMY_HEIGHT), page, quote, size)


def _face() -> str:
    return base64.b64encode((ROOT / "bomgen" / "data" / "face" / "inter-400.woff2").read_bytes()).decode()


def _write_samples(folder: Path) -> None:
    (folder / OWN_PLAN).write_text(PLAN, encoding="utf-8")
    _run(folder, "build", OWN_PLAN, "-q", "-f", "html,pdf", "-o", "out")
    _run(folder, "wiring", OWN_PLAN, "-q", "-o", "out/train-70b/cables.xlsx")
    for sample in ("quote.pdf", "report.html", "cables.xlsx"):
        (SAMPLES / sample).write_bytes((folder / "out" / "train-70b" / sample).read_bytes())


def _save(folder: Path, page: str) -> str:
    """Save a page; return its address."""
    (folder / "page.html").write_text(page, encoding="utf-8")
    return (folder / "page.html").as_uri()


def _run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "bomgen", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def _screenshot(address: str, folder: Path, width: int, height: int, *options: str) -> bytes:
    picture = folder / "picture.png"
    command = ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--hide-scrollbars", "--force-device-scale-factor=2", f"--window-size={width},{height}"]
    command += ["--run-all-compositor-stages-before-draw"]
    try:
        done = subprocess.run(
            [*command, *options, f"--screenshot={picture}", address], capture_output=True, check=False, cwd=folder
        )
    except FileNotFoundError:
        sys.exit("chromium-headless-shell is not installed; it draws docs/pictures")
    if done.returncode:
        sys.exit(done.stderr.decode("utf-8", "replace"))
    return picture.read_bytes()


if __name__ == "__main__":
    main()
