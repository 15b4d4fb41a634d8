"""Deliberate defects, and the experiment that must catch each."""
