"""Send and receive frames, the messages between the grader, the server and its children.

A frame is a header, a JSON object, and a body of any bytes. Nothing is pickled, because unpickling can execute code. On
the wire, two lengths come first:

    00 00 00 0e  00 00 00 03  {"op": "load"}  x=1
    length of    length of    header          body
    the header   the body

`sandbox/client.py` and `sandbox/server_process.py` use this outside of the sandbox, `server.py` and `child.py` inside.
To add a message, do not add it here: the headers between grader and server are listed and handled in `server.py`, those
between grader and child in `child.py _serve_requests`.
"""

import builtins
import json
import socket
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

globals()["__builtins__"] = dict(vars(builtins))  # a copy of its own: see `inside/__init__.py`

_LENGTHS = struct.Struct(">II")
"""The beginning of a frame: the lengths of the header and of the body, in bytes."""
_MAX_HEADER_BYTES = 64 * 2**10
"""Maximum length of a header from an untrusted side; honest ones have less than a thousand bytes."""
CONTROL_FD = 0
"""Descriptor of the control socket, the server's connection to the grader, when the server starts."""
_CHUNK_BYTES = 2**16
"""Maximum number of bytes to read at once: `recv` sets aside as much memory as it is asked for. Also the maximum that
`send` puts into the message with the file descriptors, which may not take a whole large frame."""

Header = dict[str, Any]
"""The header of a frame."""


class Frame(NamedTuple):
    """One message that was received."""

    header: Header
    body: bytes
    fds: Sequence[int] = ()
    """File descriptors that came with it."""


@dataclass(frozen=True)
class ServerSettings:
    """The header of the first frame to the server: what to prepare, and how to isolate children."""

    preimports: Sequence[str]
    """Names of modules that drivers and submissions import; the server imports them once, before it forks."""
    device: str
    """`cpu` or `cuda`."""
    isolate: bool
    """True if the server runs inside bubblewrap; then each child gets namespaces and a filter of system calls."""
    visible_folders: Sequence[str]
    """Folders below /tmp, such as a virtual environment, that stay visible when a child gets a /tmp of its own."""


KillReason = Literal["requested", "time", "memory", "threads", "processes"]
"""For which reason the server killed a child:

    requested: the grader asked for it.
    time: the child exceeded its limit of processor time.
    memory: the child exceeded its limit of memory.
    threads: the child exceeded its limit of threads.
    processes: all processes of the sandbox together exceeded their limit. While a child runs, bubblewrap, server and
        keeper start none, so the child did.

`sandbox.no_answer` says how each is reported (`_STATUS_OF_REASON`, `_DETAIL_OF_REASON`), except for `requested`: then
the grader has closed the child and wants no report.
"""


class FrameError(ValueError):
    """The untrusted side wrote something that is not a frame."""


def send(channel: socket.socket, header: Header, body: bytes = b"", fds: Sequence[int] = ()) -> None:
    """Write one frame.

    Args:
        channel: a stream socket; the caller has set its timeout.
        header: what JSON can hold.
        body: any bytes.
        fds: open file descriptors that the other side receives with the frame.

    Raises:
        OSError: the other side has closed the channel, or does not read in time (TimeoutError).
    """
    text = json.dumps(header).encode()
    data = _LENGTHS.pack(len(text), len(body)) + text + body
    sent = socket.send_fds(channel, [data[:_CHUNK_BYTES]], fds) if fds else 0
    channel.sendall(data[sent:])


def receive_trusted(channel: socket.socket, max_fds: int = 0) -> Frame:
    """Wait for one frame and return it. What a child has written is read by `FrameReader` instead.

    This believes the frame: it waits for as many bytes as that claims to have.

    Args:
        channel: a stream socket; the caller has set its timeout.
        max_fds: maximum number of file descriptors that may come with the frame.

    Raises:
        EOFError: the other side has closed the channel, before the frame or in the middle of it.
        OSError: the channel is broken, or no further byte comes in time (TimeoutError).
        ValueError: the header is not JSON.
    """
    first, fds, _, _ = socket.recv_fds(channel, _LENGTHS.size, max_fds)
    if not first:
        raise EOFError("the other side has gone")
    lengths = first + _receive_exactly(channel, _LENGTHS.size - len(first))
    header_size, body_size = _LENGTHS.unpack(lengths)
    header: Header = json.loads(_receive_exactly(channel, header_size))
    return Frame(header, _receive_exactly(channel, body_size), fds)


def _receive_exactly(channel: socket.socket, size: int) -> bytes:
    """Receive exactly `size` bytes.

    Raises:
        EOFError: the other side closes the channel before that.
    """
    data = bytearray()
    while len(data) < size:
        piece = channel.recv(min(size - len(data), _CHUNK_BYTES))
        if not piece:
            raise EOFError("the other side has gone")
        data += piece
    return bytes(data)


class FrameReader:
    """Assembles frames from the bytes that an untrusted side wrote.

    It takes only bytes that have arrived (`feed`), and refuses a frame as soon as it claims to be too large
    (`next_frame`).
    """

    def __init__(self, max_body_bytes: int) -> None:
        self._max_body_bytes = max_body_bytes
        self._buffer = bytearray()
        """Bytes that were fed and belong to no frame returned so far."""

    def feed(self, data: bytes) -> None:
        """Add bytes that were read from the channel."""
        self._buffer += data

    def next_frame(self) -> Frame | None:
        """Return the next frame; None if it has not arrived completely.

        Raises:
            FrameError: the bytes are not a frame, or the frame is too large.
        """
        if len(self._buffer) < _LENGTHS.size:
            return None
        header_size, body_size = _LENGTHS.unpack_from(self._buffer)
        if header_size > _MAX_HEADER_BYTES or body_size > self._max_body_bytes:
            raise FrameError(f"a frame of {header_size} + {body_size} bytes")
        header_end = _LENGTHS.size + header_size
        body_end = header_end + body_size
        if len(self._buffer) < body_end:
            return None
        try:
            header = json.loads(self._buffer[_LENGTHS.size : header_end])
        except (ValueError, RecursionError) as error:
            raise FrameError(f"a header that is not JSON: {error}") from error
        if not isinstance(header, dict):
            raise FrameError("a header that is not an object")
        body = bytes(self._buffer[header_end:body_end])
        del self._buffer[:body_end]
        return Frame(header, body)

    @property
    def has_pending_bytes(self) -> bool:
        """True if bytes were fed that belong to no frame returned so far."""
        return bool(self._buffer)

    @property
    def is_overfull(self) -> bool:
        """True if the buffer holds more than the largest header and body: call `next_frame` before feeding more.

        `next_frame` then returns a frame or raises FrameError, but never returns None.
        """
        return len(self._buffer) > _LENGTHS.size + _MAX_HEADER_BYTES + self._max_body_bytes
