"""Webhook calls from other systems."""
