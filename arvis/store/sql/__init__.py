"""What both databases share: sessions, scripts, transactions, migrations."""
