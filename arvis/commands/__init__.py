"""Text commands, which are the same on every platform. The daemon answers them in one transaction, without a model."""
