"""Price book writers: YAML, CSV and a workbook."""
