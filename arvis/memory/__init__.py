"""Memory of agents: facts are stored once, updated, recalled in their scopes, and faded if unused."""
