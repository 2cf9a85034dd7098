"""Code that both databases share: sessions, scripts, transactions, migrations."""
