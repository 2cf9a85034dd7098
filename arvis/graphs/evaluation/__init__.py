"""The graph that evaluates the cases of a suite, and the recording of cases."""
