"""Every cable of a design, port to port, its length, and what is re-plugged when a design grows.

In comes a design; out comes the `Wiring`: devices, ports and cables as columns, checked against the design's counts.
"""
