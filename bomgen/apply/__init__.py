"""An edited quote back into its plan: a workbook and a plan in; edits of the plan, prices and conflicts out.

`application` does it: `changes` finds what differs from the workbook of today; `edits` propose what gives it;
`judgement` holds the quote of the edited plan against the workbook, with the nearest plan where it differs.
"""
