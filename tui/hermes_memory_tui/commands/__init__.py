"""Commands: what the palette and the help list of a screen, and run.

Imports `dialogs` and the packages below it. Read `command_registry.py` first.
"""
