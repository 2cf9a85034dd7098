"""`arvis init`: ask for the first settings and write config.yaml."""
