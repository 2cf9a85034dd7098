"""The composition root: builds everything, starts it in order, stops it in reverse. The only wiring there is."""
