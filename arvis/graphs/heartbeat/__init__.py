"""The graph of an agent that works without being asked."""
