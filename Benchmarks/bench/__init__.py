"""Compares dld with its peers in one run: see Benchmarks/README.md."""
