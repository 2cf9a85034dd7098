"""Tools of external servers, by the Model Context Protocol (docs/how-to/mcp.md).

`servers` and `remote` manage the servers and never import the protocol's package, which takes seconds to load and may
be missing. `link` and the modules that it uses import it; they are loaded when the first server is needed.
"""
