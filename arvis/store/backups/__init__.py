"""Makes, stores and restores backups of the database and its blobs."""
