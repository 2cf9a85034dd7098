"""Schedules: find the times that are due, and turn each into work once."""
