"""The inspector's screens: each composes widgets, asks `Memory` for data, and acts on what the widgets post."""
