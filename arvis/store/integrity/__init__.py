"""Whether the files of the database are as they were left, and what happens when they are not."""
