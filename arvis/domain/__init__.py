"""The data types, events and errors of Arvis. This package does no I/O and uses only the standard library."""
