"""The inspector: a Textual app and a command line for the person who owns the memory.

May import the bridge, the store and the themes; nobody imports it. It holds no SQL: everything it does is a public function
of the store that a script could call. Read `cli/__init__.py` for the commands and `app.py` for the screen.
"""

from hermes_memory_bridge.version import __version__

__all__ = ["__version__"]
