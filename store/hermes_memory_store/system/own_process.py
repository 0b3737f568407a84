"""The environment of Python processes of our own. Standard library only: the shim imports it.

They are started with `-P`, which keeps the working folder off their path; relative and empty entries of these variables would put
it there all the same. A person's absolute entries stay, since they may be how this package is found.
"""

from __future__ import annotations

import os
import sys


def to_isolated_environment() -> dict[str, str]:
    """Return this process's environment without the entries by which Python would import from the working folder."""
    environ = dict(os.environ)
    for name in ("PYTHONPATH", "PYTHONHOME", "PYTHONPYCACHEPREFIX", "PYTHONUSERBASE"):
        entries = [entry for entry in environ.pop(name, "").split(os.pathsep) if os.path.isabs(entry)]
        entries = [entry for entry in entries if name != "PYTHONPATH" or not is_of_working_folder(entry)]
        if entries:
            environ[name] = os.pathsep.join(entries)
    return environ


def is_of_working_folder(entry: str) -> bool:
    """Check whether a folder lies in the working folder or around it, and this program was not loaded from there."""
    try:
        folder = os.path.realpath(os.getcwd())
    except OSError:  # it is gone, and what lay in it
        return False
    packages = [
        sys.modules[name] for name in list(sys.modules) if name.startswith("hermes_memory_") and "." not in name
    ]
    entry = os.path.realpath(entry)
    if entry in [os.path.realpath(f"{package.__path__[0]}/..") for package in packages]:
        return False
    shared = os.path.commonpath((entry, folder))
    return shared == entry or (shared == folder and folder not in ("/", os.path.realpath(os.path.expanduser("~"))))
