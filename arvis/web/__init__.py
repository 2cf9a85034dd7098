"""The one port: page, HTTP API and socket (interfaces.md §4). It speaks to the rest of Arvis through ports only."""
