"""Code that both databases share: named queries, sessions, migrations, and the handling of unreadable rows."""
