"""The scheduler: it finds the due occurrences of schedules and starts the work of each occurrence once."""
