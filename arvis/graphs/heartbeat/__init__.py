"""The graph of an agent that works without a message."""
