"""Files of ours that hosts load: plugins, extension folders, and files of hooks that stand in folders of their own.

Read `host_plugins.py` first. The templates beside it are what a host gets, but for the command and the answer about capture.
"""
