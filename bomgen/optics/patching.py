"""What a link over patch panels is built of: jumper, panel, trunk, panel, jumper."""

from __future__ import annotations

from bomgen.catalog.parts import ANY, AVAILABLE, Cable, Panel
from bomgen.optics.compatibility import Unbuildable, fibre_reason, over_panels
from bomgen.optics.types import FIBRE, TRUNK, Medium, PanelWish, Patch, Stock


def patched(wish: PanelWish, medium: Medium | None, stock: Stock) -> Patch:
    """The parts for links over panels that are otherwise built with a medium.

    Raises Unbuildable for links that are no fibres between modules and for parts that do not go together, LookupError
    for an unknown part.
    """
    if medium is None or medium.lower is None or medium.upper is None or medium.cable is None:
        message = "panels join fibres between modules, which these links are not built with"
        raise Unbuildable(f"{message}; name `module:`, or leave `panels:` out", "medium")
    if medium.cable.links.value > 1:
        name, links = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} carries {links} links to a plug, which part ways behind it; a port of a panel takes one"
        raise Unbuildable(f"{message}: name modules of one link a plug, or leave `panels:` out", "ports")
    jumper = _jumper(wish, medium, stock)
    return Patch(_panel(wish, jumper, stock), _trunk(wish, jumper, stock), jumper)


def _jumper(wish: PanelWish, medium: Medium, stock: Stock) -> Cable:
    """The jumper that is named, if it fits the modules; else the fibre that would join them directly."""
    if medium.cable is None or medium.lower is None or medium.upper is None:
        raise ValueError("panels join fibres between modules")
    if wish.jumper is None:
        return medium.cable
    cable = stock.cable(wish.jumper)
    if cable.medium != FIBRE:
        raise Unbuildable(f"{wish.jumper} is no fibre; it is {cable.medium}: name a fibre", "medium")
    module = medium.upper if medium.lower.fibre == ANY else medium.lower
    reason = fibre_reason(cable, module, 1, stock.rules())
    if reason:
        raise Unbuildable(f"{reason.message}; name another jumper, or leave it out", reason.code)
    return cable


def _trunk(wish: PanelWish, jumper: Cable, stock: Stock) -> Cable:
    """The trunk that is named, if it goes with the jumpers; else the first that does, those with a number before."""
    rules = stock.rules()
    if wish.trunk is not None:
        cable = stock.cable(wish.trunk)
        if cable.medium != TRUNK:
            raise Unbuildable(f"{wish.trunk} is no trunk; it is {cable.medium}: name a trunk", "medium")
        reason = over_panels(jumper, cable, rules)
        if reason:
            raise Unbuildable(f"{reason.message}; name another trunk, or leave it out", reason.code)
        return cable
    trunks = [cable for cable in stock.cables(TRUNK) if cable.identity.availability == AVAILABLE]
    reasons = [(cable, over_panels(jumper, cable, rules)) for cable in trunks]
    found = [cable for cable, reason in reasons if reason is None]
    if not found:
        message = f"no trunk goes with {jumper.identity.id} ({jumper.fibre}, {jumper.connector})"
        raise Unbuildable(f"{message}; describe one in a catalogue of your own and name it", "connector")
    return min(found, key=lambda cable: (cable.identity.generic, cable.identity.id))


def _panel(wish: PanelWish, jumper: Cable, stock: Stock) -> Panel:
    """The panel that is named, if its ports take the jumpers; else the generic one that does."""
    if wish.panel is not None:
        panel = stock.panel(wish.panel)
        if jumper.connector not in panel.connectors:
            message = f"{wish.panel} takes {', '.join(panel.connectors)}, {jumper.identity.id} is {jumper.connector}"
            raise Unbuildable(f"{message}; name another panel, or leave it out", "connector")
        return panel
    found = [panel for panel in stock.panels() if jumper.connector in panel.connectors]
    if not found:
        message = f"no panel takes {jumper.connector}, the connector of {jumper.identity.id}"
        raise Unbuildable(f"{message}; describe one in a catalogue of your own and name it", "connector")
    return min(found, key=lambda panel: (not panel.identity.generic, panel.identity.id))
