"""The store: the only package with SQL. SQLite and PostgreSQL behind one port; named queries in, domain objects out."""
