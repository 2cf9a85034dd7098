"""Adapters of web search services: one module for each service, and the parts that they share in `exchange`."""
