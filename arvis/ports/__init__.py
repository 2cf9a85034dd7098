"""The contracts that wings implement, one file each. Protocols only: no code that runs."""
