"""The inspector: a Textual app and a command line for the owner of the memory.

May import the bridge, the store and the themes; none of them imports it. It holds no SQL: everything it does
is a public function of the store that a script could call. Read `cli/__init__.py` for the commands and
`app.py` for the screens.
"""


def __getattr__(name: str) -> str:
    """Return the version, read when it is asked for: no command imports the bridge at its start."""
    if name == "__version__":
        from hermes_memory_bridge.version import __version__

        return __version__
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
