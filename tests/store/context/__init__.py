"""What is read of a store by raw SQLite: agreement with the store, and states of a file that are not read."""
