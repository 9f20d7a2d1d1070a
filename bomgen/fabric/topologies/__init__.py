"""The topologies: a module each, found by its name. Adding a file here adds a topology to plans."""
