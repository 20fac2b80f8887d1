"""The exceptions of pt2, one for each kind of failure that a caller can do something about."""

from __future__ import annotations


class Error(Exception):
    """What went wrong (`message`), where (`place`: "input 'x'", "model.pt2!models/model.json:…",
    empty when there is none) and of which kind (`code`)."""

    code = "internal"

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.message = message
        self.place = place

    def __reduce__(self) -> tuple[type[Error], tuple[str, str]]:
        return type(self), (self.message, self.place)


class FileError(Error, OSError):
    """The file could not be read or written."""

    code = "io"


class CorruptError(Error, ValueError):
    """The bytes are damaged or forged."""

    code = "corrupt"


class MalformedError(Error, ValueError):
    """This is not the format that it claims to be."""

    code = "malformed"


class InvalidError(Error, ValueError):
    """The format is right, but a rule of it is broken."""

    code = "invalid"


class UnsupportedError(Error, NotImplementedError):
    """Valid, but not known to this version: an operator, a dtype, a newer major version."""

    code = "unsupported"


class LimitError(Error, MemoryError):
    """A safety limit was hit; raise it with `limits` for a file that you trust."""

    code = "limit"


class CancelledError(Error, TimeoutError):
    """The call did not end by its deadline."""

    code = "cancelled"


class ArgumentError(Error, ValueError):
    """The caller asked for something that cannot be."""

    code = "argument"


_BY_CODE = {each.code: each for each in Error.__subclasses__()}


def make(code: str, message: str, place: str) -> Error:
    return _BY_CODE.get(code, Error)(message, place)
