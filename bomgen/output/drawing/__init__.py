"""Drawings as SVG and Graphviz: fabrics, racks, the floor, and charts.

The input is a fabric, rack elevations or a chart, and a language; the output is the text of a file or of an HTML
element.
"""
