"""Read-only queries, one module for each page of the dashboard."""
