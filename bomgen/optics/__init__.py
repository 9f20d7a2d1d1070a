"""Which module and which cable serves a link, and how many of each are bought.

In come the links of a fabric with their cages, rates and lengths; out come the chosen media, the modules of every
device, the cables with their ends, and why the other media were not chosen.
"""
