"""The bots of this daemon: their settings, and those that this process runs."""
