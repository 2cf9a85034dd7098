"""The repositories, which read and write rows inside a transaction. Each module handles one group of tables."""
