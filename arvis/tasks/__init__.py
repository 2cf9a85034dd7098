"""The work an execution was started for: its task, access rights, rounds and outcome."""
