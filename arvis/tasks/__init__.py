"""The work of an execution: its task, access rights, rounds and outcome."""
