"""Graph `agent`: prompt, model call, tool calls, reply."""
