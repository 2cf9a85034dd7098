"""The graph of a conversation that agents hand over to one another."""
