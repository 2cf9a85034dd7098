"""The contracts between packages, one file each. Protocols only: no executable code."""
