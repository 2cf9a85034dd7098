"""Backups of the database and its blobs, and the way back: made, kept, restored."""
