"""The bots of this daemon: which there are, and which of them this process runs."""
