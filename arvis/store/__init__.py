"""The store, the only package with SQL: SQLite and PostgreSQL behind one port. Repositories run named queries and
return domain objects."""
