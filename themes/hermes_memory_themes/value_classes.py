"""`dataclass`: like the standard library's with `frozen` and `slots`, at an eighth of the cost.

The standard library compiles six methods for every class on import, whether they are used or not: with fifty
classes, half of the import time of these packages, for every command, hook and screen. Here `__init__` is compiled
when the first instance is made, and the other methods are the same few functions for all classes. The names of types
are not searched for `ClassVar` and the like either, which took half of the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from dataclasses import _FIELD
    from operator import attrgetter

    UNSLOTTED = ("__dict__", "__weakref__")
    """What a class has that was made without slots."""

    def dataclass(*, frozen, slots):
        """Make a class of immutable values. For mutable ones use the standard library's."""
        assert frozen
        assert slots

        def made(plain):
            written, own = set(vars(plain)), {}
            for name, said in plain.__annotations__.items():
                assert "ClassVar" not in str(said)  # nor anything else that the standard library takes for no field
                given = vars(plain).get(name, dataclasses.MISSING)
                own[name] = given if isinstance(given, dataclasses.Field) else dataclasses.field(default=given)
                own[name].name, own[name].type, own[name].kw_only = name, said, False
                own[name]._field_type = _FIELD
            known = {}
            for base in reversed(plain.__mro__[1:]):
                known |= getattr(base, "__dataclass_fields__", {})
            members = {name: value for name, value in vars(plain).items() if name not in own and name not in UNSLOTTED}
            members |= {
                "__slots__": tuple(name for name in own if name not in known),
                "__dataclass_fields__": known | own,
                "__match_args__": tuple(known | own),
            }
            cls = type(plain)(plain.__name__, plain.__bases__, members)
            cls.__qualname__ = plain.__qualname__
            for name, method in methods(cls).items():
                if name not in written:
                    setattr(cls, name, method)
            return cls

        return made

    def methods(cls):
        """Return the methods that the standard library would compile for a class."""
        fields = dataclasses.fields(cls)
        values = attrgetter(*(field.name for field in fields if field.compare))

        def __init__(self, *args, **more):
            cls.__init__ = initializer(cls, fields)
            self.__init__(*args, **more)

        def __eq__(self, other):
            return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

        def __hash__(self):
            return hash(values(self))

        def __repr__(self):
            said = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields if field.repr)
            return f"{self.__class__.__qualname__}({said})"

        def __setattr__(_, name, __):
            raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

        def __delattr__(_, name):
            raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

        def __getstate__(self):
            return [getattr(self, field.name) for field in fields]

        def __setstate__(self, state):
            for field, value in zip(fields, state, strict=True):
                object.__setattr__(self, field.name, value)

        return {name: method for name, method in locals().items() if name.startswith("__")}

    def initializer(cls, fields):
        """Compile `__init__` of a class, as the standard library writes it."""
        missing = dataclasses.MISSING
        known, parameters, lines = {"missing": missing, "put": object.__setattr__}, ["self"], ["pass"]
        for field in fields:
            name = value = field.name
            known |= {f"default_{name}": field.default, f"make_{name}": field.default_factory}
            if field.default_factory is not missing:
                value = f"make_{name}() if {name} is missing else {name}"
            required = field.default is missing and field.default_factory is missing
            parameters.append(name if required else f"{name}=default_{name}")
            lines.append(f"put(self, {name!r}, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        # Nothing but names that stand in our own sources.
        exec("\n    ".join([f"def __init__({', '.join(parameters)}):", *lines]), known)  # noqa: S102
        known["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return known["__init__"]
