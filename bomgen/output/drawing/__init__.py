"""Drawings as SVG and Graphviz: fabrics, racks, the floor, and the costs.

In come a fabric or the elevations and a language; out comes the text of a file, or of an element within a page.
"""
