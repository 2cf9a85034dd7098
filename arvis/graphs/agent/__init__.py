"""The graph of an agent turn: prompt, model call, tools, reply."""
