"""Tiers of switches drawn as rows of boxes with the servers below; pods are frames around their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from bomgen.fabric.types import Fabric, Tier
from bomgen.output.drawing.arrangement import (
    CORE,
    count_pods,
    count_reachable,
    find_links,
    links_within_tier,
    members_of_pods,
)
from bomgen.output.drawing.canvas import (
    BETWEEN_BOXES,
    BOX_HEIGHT,
    LEFT,
    PADDING,
    RIGHT,
    Box,
    Canvas,
    DrawingRow,
    lay_out_boxes,
    lay_out_frames,
)
from bomgen.output.drawing.wording import Wording

_SHOWN_PODS = 3
_POD_WORD = 22
"""The strip of a pod's frame that its name stands in, upright."""


def draw_tiers(canvas: Canvas, wording: Wording) -> None:
    """Draw a fabric whose switches stand in tiers."""
    fabric = wording.drawn
    tiers = fabric.tiers[::-1]
    pods = list(lay_out_frames(count_pods(fabric), _SHOWN_PODS))
    rows = [DrawingRow([wording.tier_name(tier.name), *wording.tier(tier)]) for tier in tiers]
    for index, (upper, lower) in enumerate(pairwise(tiers), start=1):
        links = find_links(fabric, lower.name, upper.name)
        if links is not None:
            rows[index] = rows[index]._replace(links=[*wording.links(links), *wording.joining(lower, upper)])
    beside = links_within_tier(fabric)
    if beside:
        rows[0] = rows[0]._replace(links=[line for links in beside for line in wording.between_pods(links)])
    middles = canvas.rows([*rows, label_servers(wording)])
    _draw_pods(canvas, wording, pods, [y for tier, y in zip(tiers, middles, strict=False) if tier.name != CORE])
    above: list[list[Box]] = []
    for index, (tier, middle) in enumerate(zip(tiers, middles, strict=False)):
        groups = _boxes_by_pod(fabric, tier, pods)
        for boxes in groups:
            canvas.boxes(middle, boxes)
        if not index and beside:
            _draw_links_between_pods(canvas, groups, middle - BOX_HEIGHT / 2)
        if index:
            up = tier.up.value if tier.up is not None else 0
            heights = (middle - BOX_HEIGHT / 2, middles[index - 1] + BOX_HEIGHT / 2)
            _draw_links(canvas, groups, above, heights, up >= count_reachable(fabric, tiers[index - 1]))
        above = groups
    leaves = [box.middle for group in above for box in group if not box.more]
    draw_servers(canvas, wording, leaves, middles[-2] + BOX_HEIGHT / 2, middles[-1])


def _draw_links_between_pods(canvas: Canvas, groups: Sequence[Sequence[Box]], top: float) -> None:
    """A line that all switches of the top tier lead up to: it joins every pod with every other."""
    boxes = [box for group in groups for box in group if not box.more]
    height = top - 2 * PADDING
    for box in boxes:
        canvas.line(box.middle, top, box.middle, height)
    canvas.line(boxes[0].middle, height, boxes[-1].middle, height)


def label_servers(wording: Wording) -> DrawingRow:
    """The words beside the servers."""
    links = wording.server_links()
    label = [wording.language.word("ui-tier-server"), *wording.endpoints()]
    return DrawingRow(label, wording.links(links) if links is not None else ())


def draw_servers(canvas: Canvas, wording: Wording, above: Sequence[float], start: float, middle: float) -> None:
    """One frame around the servers: which of them hang on which switch differs from topology to topology."""
    top = middle - BOX_HEIGHT / 2 - PADDING
    canvas.rectangle("servers", LEFT, top, RIGHT - LEFT, BOX_HEIGHT + 2 * PADDING)
    canvas.boxes(middle, list(lay_out_boxes(LEFT + PADDING, RIGHT - LEFT - 2 * PADDING, wording.server_count())))
    for x in above:
        for shift in (-BETWEEN_BOXES, 0, BETWEEN_BOXES):
            canvas.line(x + shift, start, x + shift, top)


def _boxes_by_pod(fabric: Fabric, tier: Tier, pods: Sequence[Box]) -> list[list[Box]]:
    """The boxes of a tier, pod by pod; those of a core, and of a fabric without pods, are one group."""
    if not pods or tier.name == CORE:
        return [list(lay_out_boxes(LEFT, RIGHT - LEFT, tier.count.value))]
    padding = _POD_WORD + PADDING
    return [
        list(lay_out_boxes(pod.x + _POD_WORD, pod.width - padding, len(members_of_pods(fabric, tier, index, index))))
        for pod in pods
        for index in [pod.number - 1]
        if not pod.more
    ]


def _draw_pods(canvas: Canvas, wording: Wording, pods: Sequence[Box], middles: Sequence[float]) -> None:
    if not pods:
        return
    top = middles[0] - BOX_HEIGHT / 2 - PADDING
    height = middles[-1] + BOX_HEIGHT / 2 + PADDING - top
    for pod in pods:
        canvas.rectangle("pod", pod.x, top, pod.width, height, dashed=pod.more)
        centre = top + height / 2
        if pod.more:
            canvas.words("more", pod.middle, centre, f"+{pod.number}", pod.width)
        else:
            canvas.words("pod", pod.x + _POD_WORD / 2, centre, wording.pod(pod.number), height, turned=True)


def _draw_links(
    canvas: Canvas,
    groups: Sequence[Sequence[Box]],
    above: Sequence[Sequence[Box]],
    heights: tuple[float, float],
    all_joined: bool,
) -> None:
    """Lines to all switches above, or, where up-links are fewer than these, to a group of them."""
    start, end = heights
    for index, group in enumerate(groups):
        upper = [box for box in (above[index] if len(above) == len(groups) else above[0]) if not box.more]
        lower = [box for box in group if not box.more]
        for position, box in enumerate(lower):
            for other, target in enumerate(upper):
                if all_joined or other * len(lower) // len(upper) == position:
                    canvas.line(box.middle, start, target.middle, end)
