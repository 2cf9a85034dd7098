"""Compile a workflow to a graph of the engine and run its nodes."""
