"""The functions and data that all nodes use in a run: tokens, joins, templates, conditions and the log."""
