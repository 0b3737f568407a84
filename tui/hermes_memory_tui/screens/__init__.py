"""Compose the facts screen, its editors, the help, time travel and the upgrade of an old file.

Imports `dialogs` and the packages below it; knows no view. Read `facts_screen.py` first.
"""
