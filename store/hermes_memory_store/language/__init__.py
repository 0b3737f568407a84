"""Words of natural languages: tokenizer, stemmer, forms, synonyms, typing errors, scripts without spaces, closing phrases.

The words are in text files beside the code that uses them. Imports the standard library and `data_files`. Read
`tokenizer.py` first.
"""
