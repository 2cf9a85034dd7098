"""The queue's policy: when jobs run, how many at once, and what becomes of those that fail (queue.md)."""
