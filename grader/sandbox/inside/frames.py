"""Exchange frames between the grader, the sandbox's server and its children; the first one is the server's setting.

A frame is a JSON header and a body of bytes. Nothing is pickled, so that reading a frame can execute nothing.
"""

import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_PREFIX = struct.Struct(">II")
"""What a frame begins with: the length of the header and the length of the body, in bytes."""
_MAX_HEADER_BYTES = 64 * 2**10
_CHUNK_BYTES = 2**16
MAX_REACHED = 20
"""Maximum number of suspicious acts (`reaching`) that a child reports."""

Header = dict[str, Any]


@dataclass(frozen=True)
class Setting:
    """What the server prepares, and how its children are isolated."""

    imports: Sequence[str]
    """Modules that drivers and submissions import; the server imports them once for all."""
    device: str
    """`cpu` or `cuda`."""
    isolate: bool
    """True inside bubblewrap: each child gets namespaces and a filter of system calls."""
    visible: Sequence[str]
    """Folders below /tmp that must stay visible when a child gets a /tmp of its own."""


class FrameError(ValueError):
    """The other side wrote something that is not a frame."""


def send(channel: socket.socket, header: Header, body: bytes = b"", fds: Sequence[int] = ()) -> None:
    """Write one frame; the open file descriptors `fds` are passed along with it."""
    text = json.dumps(header).encode()
    data = _PREFIX.pack(len(text), len(body)) + text + body
    sent = socket.send_fds(channel, [data[:_CHUNK_BYTES]], fds) if fds else 0
    channel.sendall(data[sent:])


def receive(channel: socket.socket, max_fds: int = 0) -> tuple[Header, bytes, list[int]]:
    """Read one frame from a trusted side.

    Returns:
        The header, the body, and the file descriptors that came with it (at most `max_fds`).

    Raises:
        EOFError: the other side has closed the channel.
    """
    first, fds, _, _ = socket.recv_fds(channel, _PREFIX.size, max_fds)
    header_size, body_size = _PREFIX.unpack(
        first + _receive_exactly(channel, _PREFIX.size - len(first), bool(first))
    )
    header: Header = json.loads(_receive_exactly(channel, header_size))
    return header, _receive_exactly(channel, body_size), list(fds)


def _receive_exactly(channel: socket.socket, size: int, alive: bool = True) -> bytes:
    """Receive exactly `size` bytes.

    Raises:
        EOFError: the other side closes the channel before that, or has closed it already (`alive` is False).
    """
    data = bytearray()
    while alive and len(data) < size:
        piece = channel.recv(min(size - len(data), _CHUNK_BYTES))
        alive = bool(piece)
        data += piece
    if not alive:
        raise EOFError("the other side has gone")
    return bytes(data)


class Reader:
    """Assemble frames from the bytes that an untrusted side wrote."""

    def __init__(self, max_body: int) -> None:
        self._max_body = max_body
        self._buffer = bytearray()

    @property
    def pending(self) -> bool:
        """True if there are bytes that belong to no frame returned so far."""
        return bool(self._buffer)

    @property
    def overfull(self) -> bool:
        """True if there are more bytes than one frame may have."""
        return len(self._buffer) > _PREFIX.size + _MAX_HEADER_BYTES + self._max_body

    def feed(self, data: bytes) -> None:
        """Add bytes that were read from the channel."""
        self._buffer += data

    def next(self) -> tuple[Header, bytes] | None:
        """Return the next frame; None if it has not arrived completely.

        Raises:
            FrameError: the bytes are not a frame, or the frame is too large.
        """
        if len(self._buffer) < _PREFIX.size:
            return None
        header_size, body_size = _PREFIX.unpack_from(self._buffer)
        if header_size > _MAX_HEADER_BYTES or body_size > self._max_body:
            raise FrameError(f"a frame of {header_size} + {body_size} bytes")
        body_at = _PREFIX.size + header_size
        if len(self._buffer) < body_at + body_size:
            return None
        try:
            header = json.loads(self._buffer[_PREFIX.size : body_at])
        except (ValueError, RecursionError) as error:
            raise FrameError(f"a header that is no JSON: {error}") from error
        if not isinstance(header, dict):
            raise FrameError("a header that is no object")
        body = bytes(self._buffer[body_at : body_at + body_size])
        del self._buffer[: body_at + body_size]
        return header, body
