"""Drawings as SVG and Graphviz: fabrics, racks, the floor, and charts.

In come a fabric, the elevations or a chart and a language; out comes the text of a file, or of an element of a page.
"""
