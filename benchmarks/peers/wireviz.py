"""WireViz: the bill of a harness, and its drawing, by the command as its users start it.

Standard input: {"file", "formats"}, a harness in YAML and letters of its option --format. Prints JSON.
"""

import csv
import json
import re
import subprocess
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path

asked = json.load(sys.stdin)
program = str(Path(sys.executable).with_name("wireviz"))
start = time.perf_counter()
subprocess.run([sys.executable, "-c", "import wireviz.wireviz"], check=True)
imported = time.perf_counter() - start
with tempfile.TemporaryDirectory() as folder:
    start = time.perf_counter()
    subprocess.run(
        [program, "-f", asked["formats"], "-o", folder, "-O", "harness", asked["file"]],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    seconds = time.perf_counter() - start
    files = sorted(path.name for path in Path(folder).iterdir())
    rows = []
    for path in Path(folder).glob("*.tsv"):
        with path.open(encoding="utf-8", newline="") as stream:
            rows = list(csv.DictReader(stream, delimiter="\t"))
    drawn = [len(re.findall('class="node"', path.read_text("utf-8"))) for path in Path(folder).glob("*.svg")]
cables = [row for row in rows if row["Description"].startswith("Cable")]
result = {"files": ", ".join(files)}
if rows:
    result |= {
        "cables": sum(len(row["Designators"].split(",")) for row in cables),
        "metres": sum(float(row["Qty"]) for row in cables),
    }
if drawn:
    result["drawn"] = drawn[0]
print(json.dumps({"version": version("wireviz"), "seconds": seconds, "import_seconds": imported, "result": result}))
