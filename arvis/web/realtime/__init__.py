"""The WebSocket of the dashboard."""
