"""The agent graphs: what an agent does with a turn."""
