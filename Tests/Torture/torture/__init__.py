"""Attacks on a running dld, and a checker that knows nothing of how it works."""
