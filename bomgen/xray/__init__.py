"""X-rays of other parties' bills: the listed parts, the fabrics that explain the counts, and errors.

The input is a bill; the output is the findings for a reader (`inspection.inspect`). `parts` and `laws` check the
lines one by one. `lines` determines the lines that a fabric may consist of, and builds the parts of a plan;
`candidates` propose plans; `plan_search` finds the plans whose designs explain the lines best;
`contents` writes the document, the data and the plan.
"""
