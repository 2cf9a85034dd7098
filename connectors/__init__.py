"""Chat platforms, one module or package each. Only entry points refer to a connector by name."""
