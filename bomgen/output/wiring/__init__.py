"""The formats of the cable list: each module declares one (output/registry.py), which `cables/` writes."""
