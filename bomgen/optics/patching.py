"""The parts of a link over patch panels: jumper, panel, trunk, panel, jumper."""

from __future__ import annotations

from bomgen.catalog.parts import ANY, AVAILABLE, Cable, Panel
from bomgen.optics.compatibility import Unbuildable, fibre_reason, trunk_reason
from bomgen.optics.types import FIBRE, TRUNK, Medium, PanelSpec, PartsLookup, Patch


def select_patch(spec: PanelSpec, medium: Medium | None, parts: PartsLookup) -> Patch:
    """Select jumper, trunk and panel for links over panels.

    `medium` is what the links are built with when they run directly. Raises Unbuildable for links that are not fibre
    between modules and for parts that do not work together, LookupError for an unknown part.
    """
    if medium is None or not medium.modules or medium.cable is None:
        message = "panels connect fibres between modules, and these links have none"
        raise Unbuildable(f"{message}; name `module:`, or leave `panels:` out", "medium")
    if medium.cable.links.value > 1:
        name, links = medium.cable.identity.id, medium.cable.links.value
        message = f"{name} carries {links} links to a plug, which diverge behind it; a port of a panel takes one"
        raise Unbuildable(f"{message}: name modules of one link a plug, or leave `panels:` out", "ports")
    jumper = _jumper(spec, medium, parts)
    return Patch(_panel(spec, jumper, parts), _trunk(spec, jumper, parts), jumper)


def _jumper(spec: PanelSpec, medium: Medium, parts: PartsLookup) -> Cable:
    """The jumper that the plan names, if it fits the modules; else the fibre of a direct link."""
    if medium.cable is None or not medium.modules:
        raise ValueError("panels join fibres between modules")
    if spec.jumper is None:
        return medium.cable
    cable = parts.cable(spec.jumper)
    if cable.medium != FIBRE:
        raise Unbuildable(f"{spec.jumper} is not a fibre; it is {cable.medium}: name a fibre", "medium")
    module = next((each for each in medium.modules if each.fibre != ANY), medium.modules[0])
    reason = fibre_reason(cable, module, 1, parts.rules())
    if reason:
        raise Unbuildable(f"{reason.message}; name another jumper, or remove it", reason.code)
    return cable


def _trunk(spec: PanelSpec, jumper: Cable, parts: PartsLookup) -> Cable:
    """The trunk that the plan names, if it works with the jumpers; else the first that does, real parts first."""
    rules = parts.rules()
    if spec.trunk is not None:
        cable = parts.cable(spec.trunk)
        if cable.medium != TRUNK:
            raise Unbuildable(f"{spec.trunk} is not a trunk; it is {cable.medium}: name a trunk", "medium")
        reason = trunk_reason(jumper, cable, rules)
        if reason:
            raise Unbuildable(f"{reason.message}; name another trunk, or remove it", reason.code)
        return cable
    trunks = [cable for cable in parts.cables(TRUNK) if cable.identity.availability == AVAILABLE]
    reasons = [(cable, trunk_reason(jumper, cable, rules)) for cable in trunks]
    found = [cable for cable, reason in reasons if reason is None]
    if not found:
        message = f"no trunk goes with {jumper.identity.id} ({jumper.fibre}, {jumper.connector})"
        raise Unbuildable(f"{message}; describe one in a catalogue of your own and name it", "connector")
    return min(found, key=lambda cable: (cable.identity.generic, cable.identity.id))


def _panel(spec: PanelSpec, jumper: Cable, parts: PartsLookup) -> Panel:
    """The panel that the plan names, if its ports take the jumpers; else one that does, generic panels first."""
    if spec.panel is not None:
        panel = parts.panel(spec.panel)
        if jumper.connector not in panel.connectors:
            message = f"{spec.panel} takes {', '.join(panel.connectors)}, {jumper.identity.id} is {jumper.connector}"
            raise Unbuildable(f"{message}; name another panel, or remove it", "connector")
        return panel
    found = [panel for panel in parts.panels() if jumper.connector in panel.connectors]
    if not found:
        message = f"no panel takes {jumper.connector}, the connector of {jumper.identity.id}"
        raise Unbuildable(f"{message}; describe one in a catalogue of your own and name it", "connector")
    return min(found, key=lambda panel: (not panel.identity.generic, panel.identity.id))
