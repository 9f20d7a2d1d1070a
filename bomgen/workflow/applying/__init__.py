"""An edited quote back into its plan: a workbook and a plan in; edits of the plan, prices and conflicts out.

`application` does it: `changes` finds what differs from the workbook of today; `lines`, `pieces`, `charges` and `texts`
propose what gives it; `edited_files` writes that into the plan and its price book; `judgement` holds the quote of the
edited plan against the workbook, by what its inputs come to (`computed`) and with the `nearest` plan where it differs.
"""
