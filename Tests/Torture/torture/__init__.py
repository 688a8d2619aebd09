"""Attacks on a running dld, and a checker that does not know how dld works."""
