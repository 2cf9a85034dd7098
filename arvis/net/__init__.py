"""Outgoing HTTP: the shared client of the providers, and the guarded fetcher for addresses of users and models."""
