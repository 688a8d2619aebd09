"""Measures dld against its peers in one run: see Benchmarks/README.md."""
