"""Cabling: every cable of a design, port to port, its length, and the moves when a design grows.

The input is a design; the output is the `Wiring`: devices, ports and cables as columns, checked against the design's
counts.
"""
