"""Networks that are built as planned but for planted faults, each with the finding that it should give.

Their outputs are written as InfiniBand and LLDP show them.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

from bomgen.cabling.types import Wiring

End = tuple[int, int]
NICS = ("mlx5_0", "mlx5_3", "mlx5_4", "mlx5_5", "mlx5_6", "mlx5_9", "mlx5_10", "mlx5_11")
"""The adapters of a DGX H100 in the order of their ports."""
PAIRED = ("other-port", "wrong-rail", "crossed")
LANES = 2
"""Ports of a cage of a QM9700."""


@dataclass
class Built:
    """The built links by their planned rows, with rates in Gb/s and lanes, and what should be found of each row."""

    wiring: Wiring
    ends: dict[int, tuple[End, End]]
    rates: dict[int, tuple[int, int]] = field(default_factory=dict)
    expected: dict[int, str] = field(default_factory=dict)

    @classmethod
    def as_planned(cls, wiring: Wiring) -> Built:
        """A network without faults."""
        columns = (wiring.a_device, wiring.a_port, wiring.b_device, wiring.b_port)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        return cls(wiring, {row: ((a, p), (b, q)) for row, (a, p, b, q) in enumerate(rows)})

    def is_host(self, row: int) -> bool:
        """Whether the lower end of a link is a server."""
        return self.wiring.kind_of(self.ends[row][0][0]).fabric is None

    def plant(self, number: int, random: Random, rates: bool = True) -> None:
        """Plant faults in so many links that are as planned, some of them in their rates."""
        slow = ("speed", "width") if rates else ()
        while len(self.expected) < number:
            fault = random.choice((*PAIRED, *PAIRED, "ring", "missing", "missing", "one-end-wrong", *slow))
            row = random.choice([row for row in self.ends if row not in self.expected])
            if fault in (*PAIRED, "ring", "one-end-wrong"):
                self._move(fault, row, random)
                continue
            self.expected[row] = fault
            if fault == "missing":
                del self.ends[row]
            else:
                self.rates[row] = (50, 4) if fault == "speed" else (100, 2)

    def _move(self, fault: str, row: int, random: Random) -> None:
        """Exchange the upper ends of two or three links, or move that of one to the port of another, which is gone."""
        lower, upper = self.ends[row]
        near, kind, needed = self.is_host(row), self.wiring.cable_type[row], 3 if fault == "ring" else 2

        def is_elsewhere(a: End, b: End) -> bool:
            return b[0] != upper[0] and a[0] != lower[0] and (not near or a[1] == lower[1])

        fits: Callable[[End, End], bool] = {
            "other-port": lambda a, b: b[0] == upper[0] and (near or a[0] == lower[0]),
            "wrong-rail": lambda a, b: near and a[0] == lower[0] and b[0] != upper[0],
        }.get(fault, is_elsewhere)
        rows = [row]
        for other in random.sample([*self.ends], len(self.ends)):
            ends = self.ends[other]
            is_new = other not in self.expected and other not in rows and self.wiring.cable_type[other] == kind
            is_apart = fault == "other-port" or all(ends[1][0] != self.ends[known][1][0] for known in rows)
            if len(rows) < needed and is_new and is_apart and fits(*ends):
                rows.append(other)
        if len(rows) < needed:
            return
        uppers = [self.ends[known][1] for known in rows]
        for known, moved in zip(rows, (*uppers[1:], uppers[0]), strict=True):
            self.ends[known] = (self.ends[known][0], moved)
            self.expected[known] = "crossed" if fault == "ring" else fault
        if fault == "one-end-wrong":
            del self.ends[rows[1]]

    def unbuild(self, share: float, random: Random) -> None:
        """Leave a share of the servers out."""
        servers = sorted({self.ends[row][0][0] for row in self.ends if self.is_host(row)})
        absent = {*random.sample(servers, round(share * len(servers)))}
        for row, (lower, _) in list(self.ends.items()):
            if lower[0] in absent:
                self.expected[row] = "missing"
                del self.ends[row]

    def ibnetdiscover(self, name: Callable[[str, bool], str]) -> str:
        """The output of ibnetdiscover; `name` gives the description of a device by its planned name, if a switch."""
        wiring, lines = self.wiring, defaultdict[str, list[str]](list)

        def node(end: End) -> tuple[str, int, str]:
            device, port = end
            planned = wiring.names[device]
            if wiring.kind_of(device).fabric is None:
                number = int(wiring.ports[port].removeprefix("nic"))
                described = name(planned, False)
                text = f"{described} {NICS[number - 1]}" if described else "MT4129 ConnectX7   Mellanox Technologies"
                return f"H-{device:08x}{number:02x}", 1, text
            cage, part = (int(text) for text in wiring.ports[port].split("/"))
            return f"S-{device:08x}", (cage - 1) * LANES + part, f"MF0;{name(planned, True)}:MQM9700/U1"

        nodes = dict[str, str]()
        for row, ends in self.ends.items():
            first, second = map(node, ends)
            rate, width = self.rates.get(row, (100, 4))
            speed = {50: "HDR", 100: "NDR"}[rate]
            for (guid, port, text), (far_guid, far_port, far_text) in ((first, second), (second, first)):
                nodes[guid] = text
                own = "" if guid.startswith("S") else "lid 9 lmc 0 "
                lines[guid].append(
                    f'[{port}]\t"{far_guid}"[{far_port}]({far_guid[2:]}) \t\t# {own}"{far_text}" lid 7 {width}x{speed}'
                )
        blocks = (
            f'{"Switch" if guid[0] == "S" else "Ca"}\t{65 if guid[0] == "S" else 1} "{guid}"\t\t# "{text}"\n'
            + "\n".join(lines[guid])
            for guid, text in nodes.items()
        )
        return "\n\n".join(blocks) + "\n"

    def lldp(self, port_of_server: Callable[[str, str], str]) -> dict[str, str]:
        """The neighbours of every switch in EOS's form, by switch; `port_of_server` names a server's port."""
        wiring, neighbours = self.wiring, defaultdict[str, dict[str, object]](dict)
        for lower, upper in self.ends.values():
            for (device, port), (far, far_port) in ((lower, upper), (upper, lower)):
                if wiring.kind_of(device).fabric is None:
                    continue
                shown = wiring.ports[far_port]
                if wiring.kind_of(far).fabric is None:
                    shown = port_of_server(wiring.names[far], wiring.ports[far_port])
                info = {"interfaceId": f'"{shown}"', "interfaceId_v2": shown}
                entry = {"systemName": f"{wiring.names[far]}.hall.example.net", "neighborInterfaceInfo": info}
                neighbours[wiring.names[device]][wiring.ports[port]] = {"lldpNeighborInfo": [entry]}
        return {device: json.dumps({"lldpNeighbors": ports}, indent=1) for device, ports in neighbours.items()}
