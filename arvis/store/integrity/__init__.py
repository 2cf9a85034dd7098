"""The integrity of the database files. This package checks whether the files are in the state in which Arvis left them,
and repairs damaged files."""
