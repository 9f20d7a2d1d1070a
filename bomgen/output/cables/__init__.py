"""How the cable list is written in each of its formats, which `wiring/` declares."""
