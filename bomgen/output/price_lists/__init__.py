"""Price books out: as YAML, CSV and a workbook."""
