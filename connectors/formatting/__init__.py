"""Text as each platform wants it: divided within its limits, in its own form."""
