"""The inspector's screens: each composes widgets, reads from `Memory` and handles the widgets' messages."""
