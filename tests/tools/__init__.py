"""Generators, recorders, fuzzers, mutants and measures of the tree, apart from the tests.

Each runs as `python -m tests.tools.NAME`.
"""
