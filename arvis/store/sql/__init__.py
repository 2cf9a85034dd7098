"""The parts of the store that are the same for both databases: named queries, sessions, migrations, and the handling of
unreadable rows."""
