"""Run `grader watch`: check one exercise at every save, and go on to the next one when it passes.

The current exercise is the first one in the file that does not pass; a key skips it. When one passes, the reason why it
passed is shown. Keys are read during a check, too: those that make its result needless end it, and so does a save.
"""

import shlex
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from rich.console import Console
from rich.padding import Padding
from rich.syntax import Syntax
from rich.text import Text

from grader.base.errors import CommandError, NothingToCheck
from grader.base.names import listed
from grader.course.course import Course, Exercise
from grader.course.feedback import Feedback
from grader.course.reading import load_course
from grader.grading.own_file import OwnFile
from grader.judging.solution import task_text
from grader.learner.earned import PassNotes, pass_notes, recorded_check
from grader.learner.next_section import next_exercise
from grader.learner.progress import Progress
from grader.learner.settings import as_chosen, repair_setting
from grader.notebook.hints import next_hints
from grader.report.hint_ladder import without_clues
from grader.report.plain_text import without_code_marks
from grader.report.terminal_text import code_of
from grader.report.text import (
    has_figures,
    print_checks,
    print_figures,
    print_indented,
    print_standing,
    print_summary,
)

_LOOK_EVERY = 100
"""Milliseconds between looking for keys and saves."""
_CHECKING = "확인하는 중이에요."
_ENDING = "nrq"
"""Keys that end a running check."""


class CheckAbandonedError(KeyboardInterrupt):
    """A key or a save has made the result of the running check needless.

    Like Ctrl-C, of which it is a kind, it passes through everything that handles the errors of a check.
    """


def watch_file(
    file: Path, console: Console, names: Mapping[str, str] | None, pressed: Callable[[], str]
) -> None:
    """Check the file, which exists, then those that follow it, until the learner quits.

    Args:
        file: the learner's file.
        console: where the screen is drawn.
        names: see `OwnFile`.
        pressed: returns the keys pressed since its last call.
    """
    following: Path | None = file
    with _interruptible() as interrupted:
        while following is not None:
            watch = Watch(following, load_course(), console, names, pressed)
            following = _watched(watch, following, interrupted)
    if interrupted.is_set():
        raise KeyboardInterrupt


def _watched(watch: "Watch", file: Path, interrupted: threading.Event) -> Path | None:
    """Check a file until the learner goes on to the file that is returned, or quits (None)."""
    with suppress(CheckAbandonedError):
        watch.look()
    for _ in _ticks(file, interrupted):
        for key in watch.take_keys():
            if key == "q":
                return None
            with suppress(CheckAbandonedError):
                watch.press(key)
            if watch.following is not None:
                return watch.following
        with suppress(CheckAbandonedError):
            watch.look_if_saved()
    return None


@contextmanager
def _interruptible() -> Iterator[threading.Event]:
    """Yield an event that is set at Ctrl-C, which also raises KeyboardInterrupt as usual.

    The exception alone is not enough: Python drops exceptions raised while an object is being finalised, and the
    learner's Ctrl-C would then do nothing. Meanwhile `_ABANDON` raises CheckAbandonedError.
    """
    happened = threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        happened.set()
        raise KeyboardInterrupt

    def abandon(number: int, frame: FrameType | None) -> NoReturn:
        raise CheckAbandonedError

    handlers = {signal.SIGINT: interrupt} | ({} if _ABANDON is None else {_ABANDON: abandon})
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield happened
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


_ABANDON: signal.Signals | None = getattr(signal, "SIGUSR1", None)
"""Signal by which a thread ends the check that the main thread runs; None on Windows, where it goes on."""


def _ticks(file: Path, stop: threading.Event) -> Iterator[object]:
    from watchfiles import watch

    # Watch the folder, not the file: most editors save a new file under the old name. The iterator also yields at
    # timeouts.
    return watch(
        file.resolve().parent,
        recursive=False,
        debounce=200,
        step=_LOOK_EVERY // 2,
        rust_timeout=_LOOK_EVERY,
        yield_on_timeout=True,
        stop_event=stop,
    )


class Watch:
    """State of the screen, and how a save or a key changes it."""

    def __init__(
        self,
        file: Path,
        course: Course,
        console: Console,
        names: Mapping[str, str] | None = None,
        pressed: Callable[[], str] = lambda: "",
    ) -> None:
        """Store the arguments; nothing is read or shown yet.

        Args:
            file: the learner's file.
            course: the course.
            console: where the screen is drawn.
            names: see `OwnFile`.
            pressed: returns the keys pressed since its last call.
        """
        self._file, self._course, self._console, self._names = file, course, console, names
        self._pressed, self._waiting = pressed, ""
        self._seen: bytes | None = None
        self._own: OwnFile | None = None
        self._current: Exercise | None = None
        self._feedback: Feedback | None = None
        self._passed: dict[str, None] = {}
        """Names of the exercises that have passed, in this order; they are checked again only once all have passed."""
        self._not_begun: set[str] = set()
        """Names of the warm-ups and bonus tasks in which nothing was written yet."""
        self._just_passed: list[tuple[Feedback, PassNotes]] = []
        self._messages: list[str | Syntax] = []
        self._asked = ""
        """Exercise whose answer the last key asked for; the same key once more shows it."""
        self._shown = 1
        """How many of `_parts` of the feedback are shown."""
        self.following: Path | None = None
        """The file to which a key has asked to go on; None: this one."""

    def take_keys(self) -> str:
        """Return the keys pressed since the last call, those pressed during a check included."""
        keys, self._waiting = self._waiting + self._pressed(), ""
        return keys

    def look_if_saved(self) -> None:
        """Check again if the file's content has changed."""
        if self._is_saved():
            self.look()

    def look(self) -> None:
        """Read the file and check the current exercise; if it passes, go on to the first one that does not."""
        self._just_passed, self._messages = [], []
        if not self._read():
            return
        assert self._own is not None
        self._messages += self._own.notes
        if self._current is None:
            self._passed = {}
        self._go_on(self._current)

    def press(self, key: str) -> None:
        """Do what the key stands for; ignore unknown keys."""
        if key == "r":
            self.look()
        elif key == "n" and self._own is not None:
            self._just_passed, self._messages = [], []
            if self._current is None:
                self._leave()
            else:
                self._skip()
        elif key == "t" and (task := self._task) is not None:
            self._messages = [code_of(task_text(task), numbers=False)]
            self._draw()
        elif key == "d" and self._feedback is not None:
            self._shown = self._shown % len(_parts(self._feedback)) + 1
            self._draw()
        elif key == "h" and (task := self._task) is not None:
            again, self._asked = self._asked == task.name, ""
            hints = next_hints(
                task,
                answer=again,
                how_to_ask="h를 누르세요.",
                how_to_see_the_answer="h를 한 번 더 누르세요.",
            )
            if hints is not None and hints.confirm:
                self._asked = task.name
            self._messages = ["보너스 문제라 정해 둔 힌트가 없어요." if hints is None else hints.text]
            self._draw()

    @property
    def _task(self) -> Exercise | None:
        """The exercise to write now: the current one, or else the first warm-up or bonus task that was not begun."""
        own = () if self._own is None else self._own.exercises
        return self._current or next((one for one in own if one.name in self._not_begun), None)

    def _read(self) -> bool:
        """Read the file; return False if there is nothing to check.

        In that case the problem is shown, and the next save may fix it.
        """
        self._seen = _content(self._file)
        try:
            self._own = OwnFile(self._file, self._course, self._names)
        except (NothingToCheck, CommandError) as error:
            self._own = self._current = self._feedback = None
            self._messages = [str(error)]
            self._draw()
            return False
        if self._current not in self._own.exercises:
            self._current = None
        return True

    def _go_on(self, first: Exercise | None) -> None:
        """Check the current exercise, then the others in order, up to the first that does not pass."""
        assert self._own is not None
        others = [e for e in self._own.exercises if e.name not in self._passed and e is not first]
        for exercise in ([first] if first is not None else []) + others:
            if not self._passes(exercise):
                break
            if self._just_passed and exercise is first and self._console.is_terminal:
                self._feedback = None  # show the praise now: checking the next exercise may take a second
                self._draw(finished=False)
        else:
            self._current = self._feedback = None
        self._draw()

    def _skip(self) -> None:
        """Go to the next exercise that does not pass, starting after the current one and wrapping around."""
        assert self._own is not None
        every = self._own.exercises
        start = 0 if self._current is None else every.index(self._current) + 1
        before = self._current
        for exercise in (*every[start:], *every[:start]):
            if exercise is before:
                self._messages = ["남은 문제는 이것뿐이에요."]
                if self._feedback is None:  # the key has ended its check
                    self._passes(exercise)
                break
            if exercise.name not in self._passed and not self._passes(exercise):
                break
        self._draw()

    def _leave(self) -> None:
        """Ask to go on to the next file, or say that there is none here."""
        self.following = self._next_file()
        if self.following is None:
            self._messages = ["이 파일의 문제를 모두 통과했고, 이 폴더에서 이어지는 파일이 없어요."]
            self._draw()

    def _passes(self, exercise: Exercise) -> bool:
        """Check one exercise; return True to go on to the next one. One that does not pass becomes the current one."""
        assert self._own is not None
        try:
            feedbacks = self._own.check((exercise,), meanwhile=self._listening)
        except CheckAbandonedError:
            self._current, self._feedback = exercise, None  # the next key, or the save, starts from here
            raise
        self._not_begun.discard(exercise.name)
        if not feedbacks:  # a warm-up or bonus task that was not begun
            self._not_begun.add(exercise.name)
            return True
        (feedback,) = feedbacks
        learner = Progress.load()
        repair, _ = repair_setting(self._file.parent)
        gain = recorded_check(learner, feedback, self._own.source(exercise.name), repair)
        self._messages += learner.take_notices()
        if feedback.status != "passed":
            self._current, self._feedback, self._shown = exercise, feedback, 1
            return False
        if gain.first or exercise is self._current:
            self._just_passed.append((feedback, pass_notes(self._course, exercise, learner, gain)))
        self._passed[exercise.name] = None
        return True

    @contextmanager
    def _listening(self) -> Iterator[None]:
        """Show that a check runs; a thread reads the keys, and ends the check if its result is not wanted any more."""
        over = threading.Event()

        def listen() -> None:
            while not over.wait(_LOOK_EVERY / 1000):
                self._waiting += self._pressed()
                if {*"htd"} & {*self._waiting}:
                    status.update(f"{_CHECKING} 끝나면 보여 드려요.")
                if any(key in _ENDING for key in self._waiting) or self._is_saved():
                    if _ABANDON is not None:
                        signal.pthread_kill(threading.main_thread().ident or 0, _ABANDON)
                    return

        listener = threading.Thread(target=listen, daemon=True)
        with self._console.status(_CHECKING) as status:
            listener.start()
            try:
                yield
            finally:
                over.set()
                listener.join()

    def _is_saved(self) -> bool:
        """Return True if the file's content is not the one that is being checked."""
        now = _content(self._file)
        return now is not None and now != self._seen

    # ---- what is seen ----------------------------------------------------------------------------

    def _draw(self, *, finished: bool = True) -> None:
        """Redraw the screen; with `finished` False leave room for the next exercise's feedback."""
        console = self._console
        if console.is_terminal:
            console.clear()
        else:
            console.rule()
        self._draw_head()
        for feedback, notes in self._just_passed:
            passed = " · ".join((f"✓ {without_code_marks(feedback.title)} 통과", *notes.gains[:1]))
            console.print(Text(passed, "bold green"))
        if self._just_passed:
            won = [line for _, notes in self._just_passed for line in notes.gains[1:]]
            print_standing(console, (self._just_passed[-1][0].because, *won))
            console.print()
        if self._feedback is not None:
            self._draw_feedback(self._feedback)
        elif not finished:
            return
        elif self._own is not None and self._current is None:
            self._draw_end()
        for message in self._messages:
            if isinstance(message, str):
                print_indented(console, message, by=2)
            else:
                console.print(Padding(message, (0, 0, 0, 2)))
            console.print()
        if console.is_terminal:
            console.print(Text(f"{self._keys()}  · 저장하면 다시 확인해요", "dim"))

    def _draw_end(self) -> None:
        """Say that nothing is left that does not pass, what was not begun, and how to go on."""
        assert self._own is not None
        not_begun = [e.name for e in self._own.exercises if e.name in self._not_begun]
        if self._passed or not not_begun:
            self._console.print(Text("이 파일의 연습 문제를 모두 통과했어요.", "bold green"))
        if not_begun:
            self._console.print(Text(f"아직 쓰지 않은 것: {listed(not_begun)}. 쓰고 저장하면 확인해요."))
        if (following := self._next_file()) is not None:
            command = f"grader watch {shlex.quote(str(following))}"
            self._console.print(Text(f"n을 누르면 다음 파일로 가요. 나중에 하려면: {command}"))
        self._console.print()

    def _keys(self) -> str:
        """Return what each key does now."""
        more: tuple[str, ...] = ()
        if self._feedback is not None:
            rest = _parts(self._feedback)[self._shown :]
            more = (_KEYS_OF_PARTS[rest[0]] if rest else "d 접기",)
        onward = "n 다음 파일" if self._current is None else "n 다음 문제"
        asked = ("t 문제", "h 힌트") if self._task is not None else ()
        return "  ".join((onward, *asked, *more, "r 다시 확인", "q 끝내기"))

    def _draw_feedback(self, feedback: Feedback) -> None:
        told = without_clues(as_chosen(feedback, self._file.parent))
        for part in _parts(told)[: self._shown]:
            part(self._console, told)
        if self._shown == 1 and len(told.diagnosis.mistakes) > 1:
            print_indented(self._console, "하나씩 고쳐요. 나머지 실수는 `d`를 누르면 보여요.", by=2)
            self._console.print()

    def _next_file(self) -> Path | None:
        """Return the learner's notebook with the next exercise; None if there is none, or if it lies elsewhere."""
        following = next_exercise(self._course, Progress.load().passed)
        if following is None:
            return None
        file = self._file.parent.parent / self._course.lesson(following.lesson).part_of(following.name).place
        return file if file.is_file() and file.resolve() != self._file.resolve() else None

    def _draw_head(self) -> None:
        if self._own is None:
            return
        # Lesson and progress page count the same way.
        # A file of warm-ups only counts those.
        scored = {e.name for e in self._own.exercises if e.kind == "exercise"}
        scored = scored or {e.name for e in self._own.exercises}
        place = f"{self._file.name} · {len(scored)}문제 가운데 {len(scored & self._passed.keys())}문제 통과"
        if len(scored) < len(self._own.exercises):
            place += " (점수에 드는 것만)"
        if self._current is not None:
            lesson = self._course.lesson(self._current.lesson)
            place += f" · 레슨 {lesson.id} {lesson.title}"
        self._console.print(Text(place, "dim"))
        self._console.print()


Part = Callable[[Console, Feedback], None]
_KEYS_OF_PARTS: dict[Part, str] = {print_checks: "d 자세히", print_figures: "d 측정값"}
"""Parts of a feedback below its summary -> the key that adds it to what is shown."""


def _parts(feedback: Feedback) -> list[Part]:
    """Return the parts that a key shows one after another, each below the one before."""
    return [print_summary, print_checks, *([print_figures] if has_figures(feedback) else [])]


def _content(file: Path) -> bytes | None:
    """Return the file's content; None while an editor is replacing it, or has emptied it and not written it yet."""
    try:
        return file.read_bytes() or None
    except OSError:
        return None
