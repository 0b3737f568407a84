"""Words of natural languages: tokenizer, stemmer, forms, synonyms, typing errors, scripts without spaces, closing phrases.

Imports the standard library alone. Read `tokenizer.py` first.
"""
