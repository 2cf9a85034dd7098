"""The scheduler: it finds the due times of schedules and starts the work of each time once."""
