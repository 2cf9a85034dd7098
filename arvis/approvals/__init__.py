"""Questions to people: what waits for an answer, and what an answer does."""
