"""Read-only queries for the pages of the dashboard, one module for each group of pages."""
