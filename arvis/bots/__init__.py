"""The bots of this daemon: their settings, their connectors, and the supervisor that runs them."""
