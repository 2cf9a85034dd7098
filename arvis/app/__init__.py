"""The composition root, the only place that connects the parts: it builds them, starts them in order, and stops them in
reverse order."""
