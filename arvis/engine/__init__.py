"""The durable engine: graphs, decisions, executions, waits and effects."""
