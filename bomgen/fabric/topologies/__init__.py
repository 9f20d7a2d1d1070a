"""The topologies, one module each, found by name. Adding a file here adds a topology to plans."""
