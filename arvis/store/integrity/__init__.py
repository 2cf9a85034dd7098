"""The integrity of the database files: checks whether they are in the state in which Arvis left them, and repairs
them."""
