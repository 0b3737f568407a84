"""The launcher's `peers`. Where the provider is installed, a copy of that file stands in the place of this one."""

from ..peers import connect, make_folders

__all__ = ["connect", "make_folders"]
