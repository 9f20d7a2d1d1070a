"""The result as data: numbers, checks, warnings, racks, and reasons for choices.

The input is plan, design, wiring and quote; the output is the `Report` and the contents of bom.json.
"""
