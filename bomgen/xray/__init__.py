"""X-rays of other parties' bills: the listed parts, the fabrics that explain the counts, and errors.

The input is a bill; the output is the findings for a reader (`inspection.inspect`). `parts` and `laws` check the
lines individually. `lines` determines the lines that a fabric may consist of, and builds the parts of a plan;
`candidates` propose plans; `fitting` compares a design with the lines; `plan_search` finds the plans that explain the
bill best; `contents` writes the document, the data and the plan.
"""
