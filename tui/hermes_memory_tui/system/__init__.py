"""Talk to the machine: settings and state files, palettes, the terminal driver, the editor, the bridge, other hosts.

Imports the store and the bridge client, and no other package of this room. Read `inspector_settings.py` first.
"""
