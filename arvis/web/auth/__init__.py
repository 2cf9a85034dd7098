"""Authentication and authorisation: identities, sessions, API keys, passwords and permissions."""
