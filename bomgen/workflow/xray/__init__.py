"""X-ray of somebody's bill: which plans explain its counts, and what is wrong with it.

In goes a bill as it was read; out come the fabrics that fit, findings at their lines, and a plan that rebuilds it.
"""
