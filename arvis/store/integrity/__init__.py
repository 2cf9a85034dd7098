"""Checks whether the database files match their last known state, and repairs them."""
