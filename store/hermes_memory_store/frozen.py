"""`dataclass`, as the themes define it, for the packages that know the store."""

from hermes_memory_themes.frozen import dataclass as dataclass
