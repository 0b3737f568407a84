"""The store's `packing`. Where the provider is installed, a copy of that file replaces this one."""

from hermes_memory_store.context.packing import Budget

__all__ = ["Budget"]
