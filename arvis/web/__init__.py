"""The web server: dashboard, HTTP API, OpenAI-compatible API, MCP server, WebSocket and incoming webhooks."""
