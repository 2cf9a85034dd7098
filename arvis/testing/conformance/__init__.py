"""One suite of tests for each port. Subclass a suite and provide your implementation; the suite tests every rule of the
port."""
