"""What a child writes is read frame by frame, and never beyond its limit."""

import socket

import pytest

from grader.sandbox.inside import protocol


def test_pieces_become_frames() -> None:
    left, right = socket.socketpair()
    with left, right:
        protocol.send(left, {"exercise": "first"}, b"body")
        protocol.send(left, {"exercise": "second"})
        data = right.recv(1000)
    reader = protocol.FrameReader(max_body_bytes=10)
    found = []
    for byte in data:
        reader.feed(bytes([byte]))
        frame = reader.next_frame()
        found += [frame] if frame else []
    assert found == [
        protocol.Frame({"exercise": "first"}, b"body"),
        protocol.Frame({"exercise": "second"}, b""),
    ]
    assert not reader.has_pending_bytes


@pytest.mark.parametrize(
    "data",
    [
        b"\xff" * 8,
        b"\x00\x00\x00\x02\x00\x00\x00\xff{}",
        b"\x00\x00\x00\x02\x00\x00\x00\x00[]",
        b"\x00\x00\x00\x02\x00\x00\x00\x00\xff\xff",
        b"\x00\x00\xff\xff\x00\x00\x00\x00" + b"[" * 0xFFFF,
    ],
)
def test_what_is_no_frame_is_refused(data: bytes) -> None:
    reader = protocol.FrameReader(max_body_bytes=10)
    reader.feed(data)
    with pytest.raises(protocol.FrameError):
        reader.next_frame()
