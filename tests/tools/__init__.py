"""Tools beside the tests: fuzzers, generators, mutants, trainers."""
