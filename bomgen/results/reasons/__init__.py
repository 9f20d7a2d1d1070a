"""Reasons for choices, and for the rejected alternatives."""
