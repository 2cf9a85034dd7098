"""The actions that replies ask for: the gate that judges them, and the code that carries them out."""
