"""Rack elevations: the device at each rack unit; equal racks share one elevation."""
