"""Small real implementations and conformance suites for people who extend Arvis. Only tests import this."""
