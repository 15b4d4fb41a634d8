"""Deliberate defects, and the experiments that must catch them."""
