"""`dataclass`, as the themes define it, for the packages that know the store."""

from hermes_memory_themes.value_classes import dataclass as dataclass
