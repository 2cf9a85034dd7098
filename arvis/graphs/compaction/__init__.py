"""The graph that replaces the oldest messages of a long conversation by a summary."""
