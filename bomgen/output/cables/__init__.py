"""Writers of the cable list, one per format declared in `wiring/`."""
