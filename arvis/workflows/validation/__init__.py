"""Check a workflow before it is saved or run."""
