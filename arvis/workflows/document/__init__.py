"""The document of a workflow: its model, its node kinds and fields, and its files."""
