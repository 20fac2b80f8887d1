"""The exceptions of pt2, one for each kind of failure that a caller can handle differently."""

from __future__ import annotations

import errno
import os


class Error(Exception):
    """Says what went wrong (`message`), where (`place`: "input 'x'",
    "model.pt2!models/model.json:…", empty if there is no place) and the kind of error (`code`)."""

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


class MissingFileError(FileError, FileNotFoundError):
    """There is no such file."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(message, place)
        self.errno = errno.ENOENT


class CorruptError(Error, ValueError):
    """The bytes are damaged or forged."""

    code = "corrupt"


class MalformedError(Error, ValueError):
    """The file does not have the format that it claims to have."""

    code = "malformed"


class InvalidError(Error, ValueError):
    """The file has the right format but violates one of its rules."""

    code = "invalid"


class UnsupportedError(Error, NotImplementedError):
    """The file is valid but has something unknown to this version: an operator, a dtype, a newer
    major version."""

    code = "unsupported"


class LimitError(Error, MemoryError):
    """A safety limit was hit; raise it with `limits` for a file that you trust."""

    code = "limit"


class CancelledError(Error, TimeoutError):
    """The call did not end by its deadline."""

    code = "cancelled"


class ArgumentError(Error, ValueError):
    """The caller passed a wrong argument."""

    code = "argument"


_BY_CODE = {each.code: each for each in Error.__subclasses__()}


def make(code: str, message: str, place: str) -> Error:
    # The library gives the system's text for the number, not the number.
    if code == "io" and message == os.strerror(errno.ENOENT):
        return MissingFileError(message, place)
    return _BY_CODE.get(code, Error)(message, place)
