"""The repositories, which read and write rows inside a transaction. Each module contains one group of tables."""
