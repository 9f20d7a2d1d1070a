"""Formats of the cable list: each module declares and writes one (output/registry.py)."""
