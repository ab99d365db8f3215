"""One student's files: which of them holds an exercise, what is passed over, what is too much."""

import unicodedata

from grader.base.decoding import MAX_FILE_BYTES
from grader.course.reading import load_course
from grader.grading.grade_submission import assess_submission
from grader.grading.grading_run import GradingRun
from grader.submission import submission as reader
from grader.submission.cells import MAX_CELLS
from grader.submission.class_folder import read_class
from grader.submission.submission import read_submission
from tests.submission.samples import EXERCISES, make, names
from tests.work import calls_of


def test_other_files_are_refused(refused):
    """A single file of another kind is told what is read."""
    assert ".ipynb" in refused("hw.txt", "x")


def test_a_missing_file_is_unreadable(tmp_path):
    """`grader check` with a mistyped name ends with a line, not a traceback."""
    (unreadable,) = read_submission(tmp_path / "nope.py", EXERCISES).unreadable
    assert "파일이 없어요" in unreadable.message


def test_the_last_file_counts(tmp_path):
    """Two files with the same exercise: the last in natural order is graded, and both are named."""
    make(tmp_path, "hw2.py", "hw10.py", "notes.py")
    (tmp_path / "notes.py").write_text("x = 1")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.source_for("train_step").name == "hw10.py"
    assert submission.duplicates("train_step") == ("hw2.py", "hw10.py")
    assert submission.source_for("accumulate") is None
    assert submission.duplicates("accumulate") == ()


def test_the_numbered_file_comes_after_the_plain_one(tmp_path):
    make(tmp_path, "hw (2).py", "hw.py", "hw10.py", "hw2.py")
    assert names(read_submission(tmp_path, EXERCISES)) == ["hw.py", "hw2.py", "hw10.py", "hw (2).py"]


def test_a_broken_definition_counts_a_broken_mention_does_not(tmp_path):
    """A file that fails to define an exercise replaces earlier ones; one that only calls it has not begun it."""
    make(tmp_path, "a.py")
    make(tmp_path, "b.py", content="def train_step(:")
    make(tmp_path, "c.py", content="print(train_step, accumulate")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.source_for("train_step").name == "b.py"
    assert submission.duplicates("train_step") == ("a.py", "b.py")
    assert submission.source_for("accumulate") is None


def test_many_broken_cells_are_searched_once(tmp_path):
    """Asking thousands of broken cells about every exercise costs no more than reading them."""
    for number in range(6):
        (tmp_path / f"{number}.py").write_text("# %%\ndef f(\n" * (MAX_CELLS // 3))
    submission = read_submission(tmp_path, EXERCISES)
    assert sum(len(file.problems) for file in submission.files) == 6 * (MAX_CELLS // 3)
    calls = calls_of(lambda: [submission.source_for(f"exercise_{i}") for i in range(200)])
    assert calls < 20_000  # 7,839; searching each cell anew for each name would be 600,000


def test_a_student_cannot_hand_in_endless_code(tmp_path, monkeypatch):
    """Many large files do not stall the grading of the class."""
    monkeypatch.setattr(reader, "MAX_STUDENT_CHARS", 100)
    make(tmp_path, "a.py", "b.py", "c.py", content="# " + "x" * 60)
    submission = read_submission(tmp_path, EXERCISES)
    assert names(submission) == ["a.py", "b.py"]
    assert [u.name for u in submission.unreadable] == ["c.py"]


def test_refused_files_count_towards_what_is_read(tmp_path, monkeypatch):
    """Many bad files cost no more than many good ones; what is too large to be opened costs nothing."""
    monkeypatch.setattr(reader, "MAX_STUDENT_BYTES", 100)
    make(tmp_path, "a.ipynb", "b.ipynb", content="{" * 50)
    make(tmp_path, "0.py", content=" " * (MAX_FILE_BYTES + 1))
    make(tmp_path, "c.py")
    submission = read_submission(tmp_path, EXERCISES)
    assert submission.files == ()
    assert [u.name for u in submission.unreadable] == ["0.py", "a.ipynb", "b.ipynb", "c.py"]
    assert "JSON" in submission.unreadable[2].message
    assert "모두" in submission.unreadable[3].message


def test_a_heap_of_broken_links_makes_a_short_message(tmp_path):
    """What cannot be read is said under each exercise: a handful by name, the others by number."""
    deep = tmp_path.joinpath("kim", *["깊" * 60] * 8)
    deep.mkdir(parents=True)
    for number in range(300):
        (deep / f"{'나' * 70}{number:03}.py").symlink_to("nowhere")
    (submission,) = read_class(tmp_path, EXERCISES)
    assert len(submission.unreadable) == 300
    course = load_course()
    result = assess_submission(GradingRun(course, course.lessons, seed=0), submission, {})
    for feedback in result.feedbacks:
        assert feedback.status == "unreadable"
        assert len(feedback.message) < 2000
        assert "000.py: " in feedback.message
        assert "295개" in feedback.message


def test_files_of_one_shown_name_are_told_apart(tmp_path):
    """Grading goes by the shown name: composed and decomposed Hangul must not become one file."""
    for name in ("가.py", unicodedata.normalize("NFD", "가.py")):
        make(tmp_path, name)
    for middle in "나다":  # what differs is left out of so long a name
        make(tmp_path.joinpath(*["깊" * 60] * 3, middle, *["깊" * 60] * 4), "a.py")
    submission = read_submission(tmp_path, EXERCISES)
    assert len(set(names(submission))) == 4
    assert {"가.py", "가.py (2)"} < set(names(submission))
    assert max(map(len, names(submission))) < 210


def test_empty_files_alone_are_unreadable_and_beside_an_answer_they_are_nothing(tmp_path):
    """An upload that broke off is no answer worth 0 points."""
    (tmp_path / "answer.py").write_bytes(b"")
    (tmp_path / "__init__.py").write_bytes(b"")
    read = read_submission(tmp_path, ["train_step"])
    assert [one.name for one in read.unreadable] == ["__init__.py", "answer.py"]
    assert "빈 파일이에요" in read.unreadable_message()
    (tmp_path / "answer.py").write_text("def train_step(): ...\n")
    assert not read_submission(tmp_path, ["train_step"]).unreadable


def test_files_that_hold_no_code_are_not_an_empty_submission(tmp_path):
    """A PDF alone is something that somebody has to look at, not zero points; an empty folder is nothing."""
    assert read_submission(tmp_path, EXERCISES).unreadable == ()
    (tmp_path / "hw.pdf").write_bytes(b"%PDF")
    (unreadable,) = read_submission(tmp_path, EXERCISES).unreadable
    assert unreadable.name == "hw.pdf"
    assert ".ipynb나 .py 파일로 다시" in unreadable.message
    (tmp_path / "hw.py").write_text("x = 1")
    assert read_submission(tmp_path, EXERCISES).unreadable == ()
