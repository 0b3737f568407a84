"""Words of natural languages: tokenizer, stemmer, scripts without spaces, month names, time words, and phrases that close work.

Imports the standard library alone. Read `tokenizer.py` first.
"""
