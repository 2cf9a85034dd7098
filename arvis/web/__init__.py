"""The web port: dashboard, HTTP API and WebSocket. It uses the rest of Arvis only through ports."""
