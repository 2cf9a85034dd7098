"""The store: the only SQL. SQLite and PostgreSQL behind one port; named queries in, domain objects out."""
