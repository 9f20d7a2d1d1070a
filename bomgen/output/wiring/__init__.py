"""The formats of the cable list: each module declares one (output/registry.py), and `cables/` writes it."""
