"""The cable list in the formats that other programs read: a module a format, found by its name."""
