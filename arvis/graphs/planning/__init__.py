"""Graph `planning`: plan the work, brief an executor, let it act, check the result, report."""
