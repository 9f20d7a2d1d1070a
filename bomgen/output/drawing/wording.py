"""What drawings say of a fabric: one plane of it, and what all planes have together."""

from __future__ import annotations

from bomgen.core.language import Language
from bomgen.fabric.declaration import SwitchGroups, TierRows
from bomgen.fabric.types import SERVER, Fabric, Links, Tier
from bomgen.output.drawing.arrangement import (
    count_last_pods,
    count_pods,
    count_reachable,
    find_arrangement,
    find_groups,
    find_links,
    find_torus,
    is_link_inside_group,
    links_of_pods,
)
from bomgen.plan.types import ROLES

_GBPS = "Gb/s"


class Wording:
    """The labels of a fabric's drawing. `servers` is how many are attached, where that is known."""

    def __init__(self, fabric: Fabric, name: str, language: Language, servers: int | None) -> None:
        self.all, self.name, self.language, self.servers = fabric, name, language, servers
        self.drawn = fabric.plane or fabric
        self.planes = int(fabric.planes.value) if fabric.plane and fabric.planes is not None else 1
        arrangement = find_arrangement(self.drawn)
        rows = arrangement if isinstance(arrangement, TierRows) else TierRows("")
        self.group = rows.pod_of_rails if self.drawn.pods_hold_all_rails and rows.pod_of_rails else rows.pod

    def title(self) -> str:
        """The fabric's name and its switches."""
        parts = ", ".join(self.switches(tier) for tier in self.drawn.tiers) or self.grid()
        if self.name in ROLES:
            return f"{self.language.word(f'compare-{self.name}')}{self.language.word('ui-colon')} {parts}"
        return self.language.word("ui-fabric", name=self.name, parts=parts)

    def plane(self) -> list[str]:
        """Which part of the fabric is drawn, when it is not all."""
        return [self.language.word("ui-planes", count=self._integer(self.planes))] if self.planes > 1 else []

    def _integer(self, number: int) -> str:
        return self.language.integer(number)

    def _in_all(self, count: int) -> list[str]:
        return [self.language.word("ui-all-planes", count=self._integer(count))] if self.planes > 1 else []

    # Switches

    def tier_name(self, tier: str) -> str:
        """What a tier is called; the one tier of a fabric without tiers above holds routers."""
        key = "router" if isinstance(find_arrangement(self.drawn), SwitchGroups) else tier
        return self.language.words.get(f"ui-tier-{key}", tier)

    def switches(self, tier: Tier, count: int | None = None) -> str:
        """All switches of a tier, or some of them."""
        shown = self._integer(tier.count.value if count is None else count)
        return self.language.word("ui-switches", count=shown, name=tier.switch.identity.name)

    def tier(self, tier: Tier) -> list[str]:
        """The switches of a tier, in a plane and in all."""
        whole = self.all.tier(tier.name)
        return [self.switches(tier), *(self._in_all(whole.count.value) if whole else [])]

    def groups(self) -> str:
        """Groups of routers, and how many stand in one."""
        groups = find_groups(self.drawn)
        return self.language.word("ui-groups", count=self._integer(groups.count), size=self._integer(groups.size))

    def pod(self, first: int, last: int | None = None) -> str:
        """A pod, or pods in a row, by their numbers."""
        if last is None or last == first:
            return self.language.word(f"ui-{self.group}", number=first)
        return self.language.word(f"ui-{self.group}s-range", first=first, last=last)

    def pods(self) -> str:
        """How many pods there are."""
        return self.language.word(f"ui-{self.group}s", count=self._integer(count_pods(self.drawn)))

    def grid(self) -> str:
        """A fabric without switches by the sizes of its grid."""
        torus = find_torus(self.drawn)
        return self.language.word("ui-torus" if torus.wrapped else "ui-mesh", shape=torus.shape)

    # Links

    def rate(self, links: Links) -> str:
        """The rate of one link."""
        return self.language.value(links.rate_gbps.value, _GBPS)

    def links(self, links: Links) -> list[str]:
        """The links of a kind with their rate, in a plane and in all."""
        kind = f"ui-links-{links.kind}"
        key = kind if kind in self.language.words else "ui-links"
        whole = self.all.links_of(links.kind)
        text = self.language.word(key, count=self._integer(links.count.value), rate=self.rate(links))
        return [text, *(self._in_all(whole.count.value) if whole else [])]

    def bundle(self, links: Links, count: int, parts: int = 1) -> str:
        """An edge of so many links: as the number of an equal part where there are several, or the two nearest."""
        return f"{self.spread(count, parts)} × {self.rate(links)}"

    def spread(self, count: int, parts: int) -> str:
        """How many of a number each of several parts has: one number, or two beside each other."""
        least, left = divmod(count, max(parts, 1))
        text = self._integer(least)
        return f"{text}–{self._integer(least + 1)}" if left else text

    def joining(self, lower: Tier, upper: Tier) -> list[str]:
        """How the links between two tiers spread over pairs of switches and pods."""
        up, above = lower.up.value if lower.up is not None else 0, count_reachable(self.drawn, upper)
        even = above and up % above == 0 and not count_last_pods(self.drawn)
        key, count = ("ui-per-pair", up // above) if even else ("ui-per-switch", up)
        lines = [self.language.word(key, count=self._integer(count))]
        return [*lines, self.pods()] if above < upper.count.value else lines

    def between_pods(self, links: Links) -> list[str]:
        """The links that join every two pods, and how many each pair has."""
        pods = count_pods(self.drawn)
        each = self.spread(links.count.value, pods * (pods - 1) // 2)
        if count_last_pods(self.drawn):
            each = "–".join(self._integer(count) for count in sorted(set(links_of_pods(self.drawn, links))))
        return [*self.links(links), self.language.word("ui-per-pair-group", count=each)]

    def side_by_side(self, links: Links) -> list[str]:
        """How links within a tier spread: over pairs of routers in a group, or over pairs of groups."""
        groups = find_groups(self.drawn)
        within = is_link_inside_group(self.drawn, links)
        pairs = groups.pairs_inside if within else groups.pairs
        if pairs and links.count.value >= pairs:
            key = "ui-per-pair-router" if within else "ui-per-pair-group"
            return [self.language.word(key, count=self.spread(links.count.value, pairs))]
        if links.ports is None:
            return []
        return [self.language.word("ui-per-router", count=self._integer(links.ports.value))]

    # Servers

    def server_links(self) -> Links | None:
        """The links between servers and switches."""
        lowest = self.drawn.tiers[0].name if self.drawn.tiers else ""
        return find_links(self.drawn, SERVER, lowest)

    def server_count(self) -> int:
        """Servers of the fabric; where nobody says, as many as have its cabled links."""
        links = self.server_links()
        if self.servers is not None or links is None:
            return self.servers or 0
        return int(-(-links.cabled.value // self.drawn.ports_per_server.value))

    def endpoints(self) -> list[str]:
        """The endpoints, in a plane and in all, and whose they are."""
        fabric, links = self.drawn, self.server_links()
        word = self.language.word
        lines = [word("ui-endpoints", count=self._integer(fabric.endpoints.value))]
        lines += self._in_all(self.all.endpoints.value)
        lines.append(word("ui-per-server", count=self._integer(fabric.ports_per_server.value)))
        if links is None:
            return lines
        others = links.cabled.value - self.server_count() * fabric.ports_per_server.value
        reserved = links.count.value - links.cabled.value
        if others > 0:
            lines.append(word("ui-other-endpoints", count=self._integer(others)))
        if reserved > 0:
            lines.append(word("ui-reserved", count=self._integer(reserved)))
        return lines
