"""Bytes of a handed-in file: whatever encoding it has, and what is refused unread."""

import json
import os

import pytest

from grader.base.decoding import MAX_FILE_BYTES, read_text
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, STEP, code, kept, notebook, read

HANGUL = 'NAME = "한글 똠방각하"\n'


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp949"])
@pytest.mark.parametrize("suffix", [".py", ".ipynb"])
def test_reads_the_encodings_of_korean_windows(tmp_path, suffix, encoding):
    """A file saved by an editor on Korean Windows is not lost, whatever it chose."""
    content = HANGUL if suffix == ".py" else json.dumps({"cells": [code(HANGUL)]}, ensure_ascii=False)
    assert kept(read(tmp_path / f"hw{suffix}", content.encode(encoding))) == [HANGUL.strip()]


def test_utf16_of_either_byte_order(tmp_path):
    """The byte order mark, not this machine, decides."""
    path = tmp_path / "hw.py"
    path.write_bytes(b"\xfe\xff" + HANGUL.encode("utf-16-be"))
    assert read_text(path) == HANGUL


@pytest.mark.parametrize(
    ("cookie", "encoding"),
    [
        ("euc-kr", "euc-kr"),
        ("johab", "johab"),
        ("utf-8", "cp949"),
        ("no-such-codec", "utf-8"),
        ("unicode_escape", "utf-8"),
        ("latin-1", "latin-1"),
    ],
)
def test_respects_coding_cookies_that_hold(tmp_path, cookie, encoding):
    """A cookie is believed when the bytes agree, and passed over when it lies or names no text encoding."""
    text = (
        f"#!/usr/bin/python\n# -*- coding: {cookie} -*-\nNAME = '{'é' if cookie == 'latin-1' else '한글'}'\n"
    )
    path = tmp_path / "hw.py"
    path.write_bytes(text.encode(encoding))
    assert read_text(path) == text


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe\x00", b"\xef\xbb\xbf\xff", b"x = '\xff\xff'", b"MZ\0\0", "x = 1".encode("utf-16-le")],
)
def test_refuses_what_is_no_text(refused, content):
    """A binary file, or one in an unknown encoding, is told how to be saved."""
    assert "UTF-8로 다시 저장" in refused("hw.py", content)


def test_a_large_file_is_refused_with_its_size(refused):
    """101 MB of outputs are not read; the message says how large it is and how to shrink it."""
    message = refused("hw.ipynb", b" " * (101 * 1024 * 1024))
    assert "101.0 MB" in message
    assert "jupyter nbconvert --clear-output --inplace hw.ipynb" in message


def test_a_file_of_the_largest_size_is_read(tmp_path):
    """The limit itself is still allowed."""
    padding = " " * (MAX_FILE_BYTES - len(notebook(code("X = 1"))))
    assert kept(read(tmp_path / "hw.ipynb", notebook(code("X = 1")) + padding)) == ["X = 1"]


def test_a_file_without_permission_is_unreadable(tmp_path, monkeypatch):
    """Tests may run as root, whom no permission stops: the refusal is made up, the handling is not."""
    (tmp_path / "hw.py").write_text(STEP)
    monkeypatch.setattr(os, "open", lambda *_, **__: (_ for _ in ()).throw(PermissionError(13, "denied")))
    (unreadable,) = read_submission(tmp_path / "hw.py", EXERCISES).unreadable
    assert "chmod u+r hw.py" in unreadable.message
