"""Comparison of plans: a column per plan, a row per number."""
