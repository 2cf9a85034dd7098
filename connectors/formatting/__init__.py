"""Replies divided into parts that fit within a platform's limits."""
