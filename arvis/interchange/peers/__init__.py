"""Converts copies of the home directories of other programs to records of an export
(`docs/how-to/move-from-other-programs.md`)."""
