"""Drawings as SVG and Graphviz: fabrics, racks, the floor, and the costs."""
