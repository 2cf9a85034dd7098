"""The composition root. It builds the parts of the daemon, connects them, starts them in order, and stops them in
reverse order. No other package connects parts."""
