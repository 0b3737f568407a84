"""The corpus of the scorer: attacks in families, ordinary facts, and how they are read. Written for this project, MIT.

`attacks/` has one family a file, `ordinary/` facts as agents write them; `fresh/` has attacks of many families that were
measured before they were used. Each line is a fact in MEMORY_SPEC notation.
"""
