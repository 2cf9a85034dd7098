"""One suite of tests for each port: subclass it and give it your implementation, and it tests every rule of the
port."""
