"""Talk to the machine: settings and state files, palettes, the terminal driver, an external editor, the web server, the bridge.

Imports no other package of this room. Read `inspector_settings.py` first.
"""
