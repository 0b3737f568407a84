"""Words of natural languages: tokenizer, stemmer, forms, synonyms, typing errors, scripts without spaces, phrases that close work.

Imports the standard library alone. Read `tokenizer.py` first.
"""
