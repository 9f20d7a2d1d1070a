"""The result as data: numbers, checks, warnings, racks, and why something was chosen.

In come plan, design, wiring and quote; out come the `Report` and what bom.json holds.
"""
