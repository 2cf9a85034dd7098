"""Turns: begin, end, cancel, edit and retry."""
