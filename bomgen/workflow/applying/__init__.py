"""An edited quote back into its plan: a workbook and a plan in; edits of the plan, prices and conflicts out."""
