"""One suite of tests for each port. Subclass a suite and give it your implementation; the suite tests every rule of the
port."""
