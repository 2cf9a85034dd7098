"""Read and write rows inside a transaction, one module for each aggregate."""
