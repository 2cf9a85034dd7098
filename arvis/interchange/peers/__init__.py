"""Converts copies of the home directories of other programs into the records of an export
(`docs/how-to/move-from-other-programs.md`)."""
