"""Chat platforms, one module or package each. Arvis imports a connector only through its entry point."""
