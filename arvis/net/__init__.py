"""Everything that leaves over HTTP: the shared client of the providers (and, later, the guarded fetcher)."""
