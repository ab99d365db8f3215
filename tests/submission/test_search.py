"""A student's folder is gone through: what is found in it, what is left, and where the search ends."""

import os

import pytest

from grader.submission import find_files
from grader.submission.class_folder import read_class
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, code, make, names, notebook


def test_a_folder_is_searched_through(tmp_path):
    """Files in folders within folders are found; what tools leave behind is not taken for a submission."""
    make(tmp_path, "hw10.py", "hw2.py", "sub/b.ipynb", content="")
    make(
        tmp_path,
        ".ipynb_checkpoints/hw2.py",
        "__pycache__/x.py",
        "venv/pyvenv.cfg",
        "venv/lib/x.py",
        "._hw2.py",
    )
    make(tmp_path, ".old.py", "data.csv")
    (tmp_path / "sub/b.ipynb").write_text(notebook(code("X = 1")))
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["hw2.py", "hw10.py", "sub/b.ipynb"]
    assert submission.unreadable == ()
    hidden, others = submission.notes
    assert hidden.endswith(": .old.py")
    assert "data.csv" in others
    assert "venv/" in others


def test_links_inside_a_folder_are_not_read_twice(tmp_path):
    """A link to one's own file or folder neither duplicates nor loops."""
    make(tmp_path, "sub/hw.py")
    (tmp_path / "again.py").symlink_to("sub/hw.py")
    (tmp_path / "sub/up").symlink_to("..")
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["sub/hw.py"]
    assert submission.unreadable == ()
    assert "again.py" in submission.notes[0]


@pytest.mark.timeout(10)
def test_a_pipe_is_not_waited_for(tmp_path):
    """Opening a named pipe would wait for its other end for ever."""
    make(tmp_path, "kim/hw.py")
    os.mkfifo(tmp_path / "kim/pipe.py")
    os.mkfifo(tmp_path / "lee.py")
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == ["hw.py"]
    assert [u.name for u in (*kim.unreadable, *lee.unreadable)] == ["pipe.py", "lee.py"]


def test_limits_on_files_entries_and_depth(tmp_path, monkeypatch):
    """An endless heap of files or folders is cut off, the rest is read, and the message says so."""
    monkeypatch.setattr(find_files, "MAX_FILES", 3)
    monkeypatch.setattr(find_files, "MAX_ENTRIES", 50)
    monkeypatch.setattr(find_files, "MAX_DEPTH", 2)
    make(tmp_path, *(f"files/{i}.py" for i in (1, 2, 3, 4, 5)), "depth/a/b/c/x.py", "depth/a/y.py")
    make(tmp_path, *(f"entries/{i}.txt" for i in range(60)))
    depth, entries, files = read_class(tmp_path, EXERCISES)
    assert names(files) == ["1.py", "2.py", "3.py"]
    (unreadable,) = files.unreadable
    assert "3개 넘게" in unreadable.message
    assert names(depth) == ["a/y.py"]
    assert [u.name for u in depth.unreadable] == ["a/b/c/"]
    assert "50개 넘게" in entries.unreadable[-1].message


def test_a_folder_that_cannot_be_listed_costs_only_itself(tmp_path, monkeypatch):
    """Tests may run as root: the refusal is made up, the handling is not."""
    make(tmp_path, "kim/hw.py", "kim/locked/x.py", "lee/hw.py")
    opening = os.open

    def refuse(path, *how, **where):
        if path == "locked":
            raise PermissionError(13, "Permission denied")
        return opening(path, *how, **where)

    monkeypatch.setattr(os, "open", refuse)
    kim, lee = read_class(tmp_path, EXERCISES)
    assert names(kim) == names(lee) == ["hw.py"]
    assert [u.name for u in kim.unreadable] == ["locked/"]
