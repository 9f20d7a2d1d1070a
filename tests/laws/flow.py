"""Maximum flow, for laws that hold a stated bisection against every link of a fabric (Dinic 1970)."""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable
from itertools import pairwise


class Network:
    """A graph of links that carry as much one way as the other."""

    def __init__(self) -> None:
        self.room: dict[Hashable, dict[Hashable, int]] = {}

    def join(self, one: Hashable, other: Hashable, capacity: int, both: bool = True) -> None:
        """Add a link; links between the same two nodes add up."""
        for start, end, amount in ((one, other, capacity), (other, one, capacity if both else 0)):
            self.room.setdefault(start, {})
            self.room[start][end] = self.room[start].get(end, 0) + amount

    def flow(self, start: Hashable, end: Hashable) -> int:
        """The most that can flow; the graph is used up by it."""
        total = 0
        if start not in self.room or end not in self.room:
            return 0
        while (level := self._levels(start, end)) is not None:
            edges = {node: list(near) for node, near in self.room.items()}
            while (pushed := self._push(start, end, level, edges)) > 0:
                total += pushed
        return total

    def _levels(self, start: Hashable, end: Hashable) -> dict[Hashable, int] | None:
        level = {start: 0}
        queue = deque([start])
        while queue:
            node = queue.popleft()
            for near, room in self.room[node].items():
                if room > 0 and near not in level:
                    level[near] = level[node] + 1
                    queue.append(near)
        return level if end in level else None

    def _push(
        self, start: Hashable, end: Hashable, level: dict[Hashable, int], edges: dict[Hashable, list[Hashable]]
    ) -> int:
        """One path with room along rising levels, by depth first; 0 when there is none left."""
        path = [start]
        while path:
            node = path[-1]
            if node == end:
                pushed = min(self.room[a][b] for a, b in pairwise(path))
                for a, b in pairwise(path):
                    self.room[a][b] -= pushed
                    self.room[b][a] += pushed
                return pushed
            while edges[node]:
                near = edges[node][-1]
                if self.room[node][near] > 0 and level.get(near, -1) == level[node] + 1:
                    path.append(near)
                    break
                edges[node].pop()
            else:
                path.pop()
                if path:
                    edges[path[-1]].pop()
        return 0
