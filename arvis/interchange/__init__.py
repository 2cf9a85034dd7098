"""Exports to and imports from a file whose format is documented (`docs/reference/export-format.md`)."""
