"""Real small counterparts and conformance suites for people who extend Arvis. Nothing but tests imports this."""
