"""The corpus of the scorer: attacks in families, ordinary facts, and how they are read. Written for this project, MIT.

`attacks/` has one family a file, `ordinary/` facts as agents write them; `fresh/` was written apart, before the scorer's
features, and is only measured. Each line is a fact in MEMORY_SPEC notation.
"""
