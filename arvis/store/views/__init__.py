"""Read-only queries for the pages of the dashboard. Each module contains the queries for one group of pages."""
