"""Arista AVD: configurations and the list of point-to-point links of a leaf-spine fabric with routed links.

Standard input: {"leaves", "spines", "links"}, links of each leaf and spine. Prints JSON.
"""

import csv
import io
import json
import sys
import time
from importlib.metadata import version

START = time.perf_counter()
import pyavd  # noqa: E402 - the import is timed

IMPORTED = time.perf_counter() - START

asked = json.load(sys.stdin)
leaves, spines, links = asked["leaves"], asked["spines"], asked["links"]
spine_names = [f"spine{number}" for number in range(1, spines + 1)]
uplinks = [name for name in spine_names for _ in range(links)]
of_spines = {
    "defaults": {"bgp_as": "65001", "loopback_ipv4_pool": "192.168.0.0/16"},
    "nodes": [{"name": name, "id": number} for number, name in enumerate(spine_names, 1)],
}
of_leaves = {
    "defaults": {
        "loopback_ipv4_pool": "192.168.0.0/16",
        "loopback_ipv4_offset": spines,
        "vtep_loopback_ipv4_pool": "172.16.0.0/16",
        "uplink_ipv4_pool": "10.0.0.0/12",
        "uplink_switches": uplinks,
        "max_uplink_switches": spines,
        "max_parallel_uplinks": links,
        "uplink_interfaces": [f"Ethernet{number}" for number in range(1, len(uplinks) + 1)],
    },
    "nodes": [
        {
            "name": f"leaf{number}",
            "id": number,
            "bgp_as": str(65001 + number),
            "uplink_switch_interfaces": [
                f"Ethernet{(number - 1) * links + link}" for _ in spine_names for link in range(1, links + 1)
            ],
        }
        for number in range(1, leaves + 1)
    ],
}
fabric = {"fabric_name": "FABRIC", "spine": of_spines, "l3leaf": of_leaves}
inputs = {
    **{name: fabric | {"type": "spine"} for name in spine_names},
    **{node["name"]: fabric | {"type": "l3leaf"} for node in of_leaves["nodes"]},
}
checked = {name: pyavd.validate_inputs(given) for name, given in inputs.items()}
for name, outcome in checked.items():
    if outcome.validated_data is None:
        sys.exit(f"{name}: {outcome.validation_result.violations[:1]}")
inputs = {name: outcome.validated_data for name, outcome in checked.items()}
facts = pyavd.get_avd_facts(inputs)
configured = {name: pyavd.get_device_structured_config(name, given, facts) for name, given in inputs.items()}
texts = [pyavd.get_device_config(each) for each in configured.values()]
written = pyavd.get_fabric_documentation(facts, configured, "FABRIC", fabric_documentation=False, p2p_links_csv=True)
rows = list(csv.DictReader(io.StringIO(written.p2p_links_csv)))
print(
    json.dumps(
        {
            "version": version("pyavd"),
            "import_seconds": IMPORTED,
            "result": {
                "switches": len(texts),
                "links": len(rows),
                "lines of configuration": sum(text.count("\n") for text in texts),
            },
        }
    )
)
