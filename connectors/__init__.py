"""Chat platforms, one file each. Nothing but entry points refers to a connector by name."""
