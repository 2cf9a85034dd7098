"""Graph `planning` (seed 001): plan, brief, act, check, report."""
