"""Who calls: identities, sessions, API keys, passwords, and what each may do."""
