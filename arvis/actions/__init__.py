"""Actions that replies ask for: the gate, and the code that carries them out."""
