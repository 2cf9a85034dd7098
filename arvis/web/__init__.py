"""The web server. It serves the dashboard, the HTTP API, the OpenAI-compatible API, the MCP server, the WebSocket and
incoming webhooks."""
