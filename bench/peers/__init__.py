"""Rookery beside other job systems: the same work on each, in one run. `python -m bench.peers` says how."""
