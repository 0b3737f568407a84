"""Commands: one registry for the palette, the command line `:`, and the programs that a person has added.

Imports `dialogs` and the packages below it. Read `command.py` first, then `command_registry.py`.
"""
