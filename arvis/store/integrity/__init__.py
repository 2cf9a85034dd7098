"""Checks whether the database files are in the state in which Arvis left them, and repairs them if not."""
