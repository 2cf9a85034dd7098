"""Calls from other systems."""
