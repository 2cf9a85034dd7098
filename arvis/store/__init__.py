"""The store, the only package with SQL. It implements one port on SQLite and on PostgreSQL. Its repositories run named
queries and return domain objects."""
