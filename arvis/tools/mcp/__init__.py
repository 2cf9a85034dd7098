"""Tools of other people's servers, by the Model Context Protocol (docs/05-mcp.md).

`servers` and `remote` keep the servers and never import the protocol's package, which takes seconds to load and may be
missing; `link` and what stands beside it does, and is loaded when the first server is wanted.
"""
