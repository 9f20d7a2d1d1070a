"""The catalogue: parts and models, and the known figures of each.

The input is the YAML records of `data/` and of a plan's part folders; the output is immutable records of GPUs, servers,
NICs, switches, modules, cables, racks and models, every figure with its source.
"""
