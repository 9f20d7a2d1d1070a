"""X-rays of other people's bills: the parts they list, the fabrics that explain the counts, and what is wrong.

A bill goes in; what a reader is shown comes out (`inspection.inspect`). `scopes` says which lines a fabric may be made
of; `servers`, `links`, `hosts` and `candidates` say which plans to try, from what the lines count to (`line_counts`);
`forward` builds them; `fitting` counts a design against the lines; `search` finds the best plans of a fabric, and
`networks` those of a bill that names none; `judgement` says what is wrong beside them; `plan_text` writes the plan.
"""
