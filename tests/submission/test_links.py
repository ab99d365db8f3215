"""Links in a class folder: nobody's files but one's own are graded as one's own."""

import os
import shutil
from pathlib import Path

import pytest

from grader.base import decoding
from grader.submission import find_files
from grader.submission.class_folder import read_class
from tests.submission.samples import EXERCISES, STEP, make, names


@pytest.fixture
def class_with_secret(tmp_path):
    """A class folder, and files outside it that no link may reach."""
    make(tmp_path, "secret/hw.py", content="SECRET = 1\n" + STEP)
    make(tmp_path, "class/lee/hw.py", "class/kim2/hw.py")
    (tmp_path / "class/kim").mkdir()
    return tmp_path / "class"


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("kim/hw.py", "../../secret/hw.py"),
        ("kim/hw.py", "/etc/passwd"),
        ("kim/hw", "../../secret"),
        ("kim/hw.py", "../lee/hw.py"),
        ("kim/hw.py", "../kim2/hw.py"),
        ("kim/hw", ".."),
        ("kim/hw.py", "hw.py"),
        ("kim/hw", "nowhere"),
        ("park", "../secret"),
        ("park.py", "../secret/hw.py"),
        ("park", "park"),
        ("park", "."),
    ],
)
def test_links_out_of_the_folder_are_not_followed(class_with_secret, link, target):
    """Neither the instructor's files nor a neighbour's are graded as one's own; a loop ends."""
    (class_with_secret / link).symlink_to(target)
    submissions = {s.student: s for s in read_class(class_with_secret, EXERCISES)}
    assert names(submissions["lee"]) == ["hw.py"]
    owner = submissions[link.split("/")[0].removesuffix(".py")]
    assert owner.files == ()
    assert [u.name for u in owner.unreadable] == [link.split("/")[-1]]
    assert "링크" in owner.unreadable[0].message


def test_links_within_the_class_folder_are_students(tmp_path):
    """An instructor may keep the handed-in files elsewhere in the class folder."""
    make(tmp_path, ".store/1.py")
    (tmp_path / "kim.py").symlink_to(".store/1.py")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert submission.student == "kim"
    assert "train_step" in submission.files[0].defines


@pytest.mark.parametrize(
    ("link", "target"),
    [
        ("park.py", "v0.py"),
        ("park", "lee"),
        ("park.py", "lee/hw.py"),
        ("park.py", ".hidden"),  # itself a link to lee/hw.py
        ("park.py", "stored.py"),
        ("park", "lee/sub"),
    ],
)
def test_links_to_another_students_work_are_refused(tmp_path, link, target):
    """Neither a file nor a folder of a classmate is graded as one's own, through whatever links."""
    make(tmp_path, "v0.py", "lee/hw.py", "lee/sub/x.py", ".store/1.py")
    (tmp_path / ".hidden").symlink_to("lee/hw.py")
    (tmp_path / "stored.py").symlink_to(".store/1.py")
    (tmp_path / link).symlink_to(target)
    submissions = {s.student: s for s in read_class(tmp_path, EXERCISES)}
    park = submissions.pop("park")
    assert park.files == ()
    (unreadable,) = park.unreadable
    assert unreadable.name == link
    assert "다른 학생" in unreadable.message
    assert ("lee" if target == ".hidden" else target.split("/")[0]) in unreadable.message
    assert all(s.files and not s.unreadable for s in submissions.values())


def test_files_shared_with_another_student_are_noted(tmp_path):
    """A hard link to a classmate's file is read, and both are told; one within one's own folder is nothing."""
    make(tmp_path, "kim/hw.py", "lee.py", "park/a.py")
    os.link(tmp_path / "kim/hw.py", tmp_path / "choi.py")
    os.link(tmp_path / "park/a.py", tmp_path / "park/b.py")
    notes = {s.student: s.notes for s in read_class(tmp_path, EXERCISES)}
    assert notes["lee"] == notes["park"] == ()
    assert "hw.py" in notes["kim"][0]
    assert "choi.py" in notes["choi"][0]


@pytest.mark.parametrize("moment", ["listing", "reading"])
def test_a_folder_that_becomes_a_link_meanwhile_is_not_followed(tmp_path, monkeypatch, moment):
    """A student whose folder is shared exchanges it just before it is listed, or a file in it read."""
    make(tmp_path / "class", "kim/deep/hw.py", "lee/hw.py")
    secret = tmp_path / "secret"
    make(secret, "hw.py")
    deep = tmp_path / "class" / "kim" / "deep"

    def exchanged(module):
        opening = module.open_folder_below

        def swap(root, folder):
            if folder == deep and not deep.is_symlink():
                shutil.rmtree(deep)
                deep.symlink_to(secret, target_is_directory=True)
            return opening(root, folder)

        monkeypatch.setattr(module, "open_folder_below", swap)

    exchanged(find_files if moment == "listing" else decoding)
    kim, lee = read_class(tmp_path / "class", EXERCISES)
    assert (kim.files, len(lee.files)) == ((), 1)
    (unreadable,) = kim.unreadable
    assert unreadable.name == ("deep/" if moment == "listing" else "deep/hw.py")
    assert "열 수 없어요" in unreadable.message


@pytest.mark.full
def test_a_link_that_leads_through_thousands_ends_nothing(tmp_path: Path) -> None:
    """Python 3.11 follows each within the other."""
    folder = tmp_path / "class" / "kim"
    folder.mkdir(parents=True)
    (folder / "hw.py").write_text("def train_step(): ...\n")
    for number in range(2_000):
        (folder / f"{number}.py").symlink_to(f"{number + 1}.py")
    (tmp_path / "class" / "lee.py").symlink_to("kim/0.py")
    kim, lee = read_class(tmp_path / "class", EXERCISES)
    assert [file.name for file in kim.files] == ["hw.py"]
    assert not lee.files
    assert lee.unreadable
