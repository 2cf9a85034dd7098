"""The repositories: they read and write rows inside a transaction. Each module holds one group of tables."""
