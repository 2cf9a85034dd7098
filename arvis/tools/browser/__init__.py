"""The tools `browser_…`: web pages in Chromium, which runs in a sandbox with a profile for each agent (ADR 0079)."""
