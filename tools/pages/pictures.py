"""Draws pictures of the documentation with Chromium (`make docs`), and writes its samples: what bomgen shows today.

That of the README has a plan, the quote made of it, and the reason of one of its numbers; the others are the page of
`bomgen serve`, and the findings about a bill.
"""

from __future__ import annotations

import base64
import html
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from bomgen.serve.calls import pack

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
    """Draw the pictures. Exits with what is missing, if Chromium is."""
    _draw_plan_to_quote()
    _draw_findings()
    _draw_page()


def _draw_findings() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "bill.csv").write_text(BILL, encoding="utf-8")
        _run(folder, "xray", "bill.csv", "-o", "findings.html")
        (PICTURES / "xray.png").write_bytes(_screenshot((folder / "findings.html").as_uri(), folder, *BILL_SIZE))


def _draw_page() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for plan in ("llama65b-quote.yaml", "h100-127.yaml", "h200-xe9680-vast.yaml", "llama70b-chat-latency.yaml"):
            (folder / plan).write_bytes((ROOT / "plans" / plan).read_bytes())
        command = [sys.executable, "-m", "bomgen", "serve", str(folder), "--no-browser"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            address = server.stdout.readline().strip() if server.stdout else ""
            opened = f"{address}#plan={pack(PLAN)}"
            for picture, where, size, options in (
                ("serve-start", address, DESK, ()),
                ("serve", opened, DESK, ()),
                ("serve-dark", opened, DESK, (DARK,)),
                ("serve-phone", opened, PHONE, ()),
            ):
                shown = _screenshot(where, folder, *size, f"--virtual-time-budget={PATIENCE_MS}", *options)
                (PICTURES / f"{picture}.png").write_bytes(shown)
        finally:
            server.terminate()
            server.wait()


def _draw_plan_to_quote() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "train-70b.yaml").write_text(PLAN, encoding="utf-8")
        _run(folder, "build", "train-70b.yaml", "-q", "-f", "html,pdf", "-o", "out")
        _run(folder, "wiring", "train-70b.yaml", "-q", "-o", "out/train-70b/cables.xlsx")
        for sample in ("quote.pdf", "report.html", "cables.xlsx"):
            (SAMPLES / sample).write_bytes((folder / "out" / "train-70b" / sample).read_bytes())
        quote = folder / "out" / "train-70b" / "quote.html"
        cover = _screenshot(quote.as_uri(), folder, QUOTE_WIDTH, QUOTE_HEIGHT)
        lines = _run(folder, "explain", "train-70b.yaml", NUMBER, "--depth", "1", "-q").splitlines()
        steps = [line for line in lines if line[0] not in "│ "][:STEPS]
        page = PAGE.format(
            face=base64.b64encode((ROOT / "bomgen" / "data" / "face" / "inter-400.woff2").read_bytes()).decode(),
            width=WIDTH,
            height=HEIGHT,
            plan=re.sub(r"(?m)^( *)([a-z_]+):", r"\1<b>\2</b>:", html.escape(PLAN)),
            quote=base64.b64encode(cover).decode(),
            number=NUMBER,
            reason=html.escape("\n".join(step if len(step) <= LONGEST else f"{step[:LONGEST]} …" for step in steps)),
        )
        (folder / "page.html").write_text(page, encoding="utf-8")
        drawn = _screenshot((folder / "page.html").as_uri(), folder, WIDTH, HEIGHT)
        (PICTURES / "plan-to-quote.png").write_bytes(drawn)


def _run(folder: Path, *arguments: str) -> str:
    command = [sys.executable, "-m", "bomgen", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def _screenshot(address: str, folder: Path, width: int, height: int, *options: str) -> bytes:
    picture = folder / "picture.png"
    command = ["chromium-headless-shell", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]
    command += ["--hide-scrollbars", "--force-device-scale-factor=2", f"--window-size={width},{height}"]
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
