"""The report as an Excel workbook whose formulas stay live, sheet by sheet."""
