"""Write and read the rows of one aggregate each, inside a transaction."""
