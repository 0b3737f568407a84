"""The SQLite file: connection, transactions, schema, migrations, full-text indexes and copies of the file. Knows no fact.

May import errors and language. Read `db.py` first.
"""
