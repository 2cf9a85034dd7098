"""The graph of a turn in which agents hand the conversation over to one another."""
