"""The nouns of Arvis: frozen dataclasses, enums, events and the error tree. No I/O, standard library only."""
