"""Moves all data from one database to another one, between SQLite and PostgreSQL."""
