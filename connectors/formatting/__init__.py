"""Text in each platform's own form, divided within its limits."""
