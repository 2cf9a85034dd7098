"""The graph that summarises a conversation that has grown too long."""
