"""Arvis as a service of systemd or launchd: the files that describe the service, and the programs that manage it."""
