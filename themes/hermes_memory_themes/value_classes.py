"""`dataclass`: like the standard library's with `frozen` and `slots`, at a tenth of the cost.

The standard library compiles six methods for every class on import, which is half of the import time of these packages. Here
`__init__` is compiled when the first instance is made, and the other methods are the same functions for all classes. The names
of types are not searched for `ClassVar` and the like either.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from dataclasses import _FIELD, fields
    from functools import cache
    from operator import attrgetter

    UNSLOTTED = ("__dict__", "__weakref__")

    def dataclass(*, frozen, slots):
        """Make a class of immutable values. For mutable ones use the standard library's."""
        assert frozen
        assert slots

        def made(plain):
            own = {}
            for name, annotation in plain.__annotations__.items():
                assert "ClassVar" not in str(
                    annotation
                )  # nor anything else that the standard library takes for no field
                default = vars(plain).get(name, dataclasses.MISSING)
                own[name] = default if isinstance(default, dataclasses.Field) else dataclasses.field(default=default)
                own[name].name, own[name].type, own[name].kw_only = name, annotation, False
                own[name]._field_type = _FIELD
            inherited = {}
            for base in reversed(plain.__mro__[1:]):
                inherited |= getattr(base, "__dataclass_fields__", {})
            members = {name: value for name, value in vars(plain).items() if name not in own and name not in UNSLOTTED}
            members |= {
                "__qualname__": plain.__qualname__,
                "__slots__": tuple(name for name in own if name not in inherited),
                "__dataclass_fields__": inherited | own,
                "__match_args__": tuple(inherited | own),
            }
            return type(plain)(plain.__name__, plain.__bases__, METHODS | members)

        return made

    @cache
    def compared_values(cls):
        return attrgetter(*(field.name for field in fields(cls) if field.compare))

    def __init__(self, *args, **more):
        cls = next(cls for cls in type(self).__mro__ if vars(cls).get("__init__") is __init__)
        cls.__init__ = initializer(cls, fields(cls))
        cls.__init__(self, *args, **more)

    def __eq__(self, other):
        if other.__class__ is not self.__class__:
            return NotImplemented
        values = compared_values(self.__class__)
        return values(self) == values(other)

    def __hash__(self):
        return hash(compared_values(self.__class__)(self))

    def __repr__(self):
        values = ", ".join(f"{field.name}={getattr(self, field.name)!r}" for field in fields(self) if field.repr)
        return f"{self.__class__.__qualname__}({values})"

    def __setattr__(_, name, __):
        raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(_, name):
        raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")

    def __getstate__(self):
        return [getattr(self, field.name) for field in fields(self)]

    def __setstate__(self, state):
        for field, value in zip(fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    METHODS = {
        method.__name__: method
        for method in (__init__, __eq__, __hash__, __repr__, __setattr__, __delattr__, __getstate__, __setstate__)
    }

    def initializer(cls, fields):
        """Compile `__init__` of a class, as the standard library writes it."""
        missing = dataclasses.MISSING
        namespace, parameters, lines = {"missing": missing, "put": object.__setattr__}, ["self"], ["pass"]
        for field in fields:
            name = value = field.name
            namespace |= {f"default_{name}": field.default, f"make_{name}": field.default_factory}
            if field.default_factory is not missing:
                value = f"make_{name}() if {name} is missing else {name}"
            required = field.default is missing and field.default_factory is missing
            parameters.append(name if required else f"{name}=default_{name}")
            lines.append(f"put(self, {name!r}, {value})")
        if hasattr(cls, "__post_init__"):
            lines.append("self.__post_init__()")
        # Nothing but names that stand in our own sources.
        exec("\n    ".join([f"def __init__({', '.join(parameters)}):", *lines]), namespace)  # noqa: S102
        namespace["__init__"].__qualname__ = f"{cls.__qualname__}.__init__"
        return namespace["__init__"]
