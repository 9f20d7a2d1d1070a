"""X-rays of other people's bills: the parts they list, the fabrics that explain the counts, and what is wrong.

A bill goes in; what a reader is shown comes out (`inspection.inspect`). `parts`, `prices` and `laws` judge the lines by
themselves. `lines` says which of them a fabric may be made of, and what they count to; `machines` and `candidates` say
which plans to try; `forward` builds them; `fitting` counts a design against the lines; `plan_search` finds the plans
that explain the bill best; `files` writes the plan, `contents` the document.
"""
