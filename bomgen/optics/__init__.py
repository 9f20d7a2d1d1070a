"""Optics: the module and cable for each link, and how many of each are bought.

The input is the links of a fabric with their cages, rates and lengths; the output is the chosen media, the modules of
every device, the cables with their ends, and why the other media were rejected.
"""
