"""All outgoing HTTP: the shared client of the providers, and the guarded fetcher."""
