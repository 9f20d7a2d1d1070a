"""X-rays of other parties' bills: the listed parts, the fabrics that explain the counts, and errors.

The input is a bill; the output is the findings for a reader (`inspection.inspect`). `parts`, `prices` and `laws` check
the lines individually. `lines` determines the lines that a fabric may consist of, and their counts; `machines` and
`candidates` propose plans; `forward` builds them; `fitting` compares a design with the lines; `plan_search` finds the
plans that explain the bill best; `files` writes the plan, `contents` the document.
"""
