"""How long the desk and the class page keep an assistant waiting, over a class of many students, in the browser.

Run by hand; pytest does not collect it. The class hands in one answer to two exercises each: half of them right, half a
program of tests/first_tries. It is graded, then opened in Chromium.

    python tests/bench/in_browser.py                   # 600 students
    python tests/bench/in_browser.py --students 60

Two times are told of each act, as the median and the longest: from the key to the first frame that shows the result,
and the longest stretch in which the page's own thread did not answer (a *long task*, counted from 50 ms up).
"""

import argparse
import os
import statistics
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from grader.classroom.desk.desk import Desk
from grader.cli.desk import rules_in
from tests.bench.throughput import EXERCISES, ours
from tests.browser import running_browser
from tests.classroom.desk.running import running_desk

_WATCH = """() => {
  window.longest = 0;
  new PerformanceObserver((list) => {
    for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
  }).observe({type: "longtask", buffered: true});
}"""
"""Notes the longest task of the page."""
_UNTIL_CHANGED = """(where) => {
  window.longest = 0;
  const start = performance.now();
  window.changed = new Promise((resolve) => {
    const observer = new MutationObserver(() => {
      observer.disconnect();
      requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now() - start)));
    });
    const all = {subtree: true, childList: true, attributes: true, characterData: true};
    document.querySelectorAll(where).forEach((element) => observer.observe(element, all));
  });
}"""
"""Begins to wait until something in some elements is written anew, and the frame with it has been shown."""
_SHOWN = """() => Promise.race([
  window.changed,
  new Promise((_, fail) => setTimeout(() => fail(new Error("nothing was shown for 20 s")), 20000)),
])"""
"""Waits for that, and gives the milliseconds that it took."""


@dataclass
class Times:
    """Milliseconds of one kind of act."""

    shown: list[float] = field(default_factory=list)
    """From the act to the first frame that shows its result."""
    blocked: list[float] = field(default_factory=list)
    """The longest task during the act; 0 if none took 50 ms."""


class Watched:
    """A page whose acts are timed."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.evaluate(_WATCH)
        page.wait_for_timeout(60)  # tasks before this are told now
        opened, blocked = page.evaluate("[performance.now(), window.longest]")
        self.times = {"여는 동안": Times([opened], [blocked])}

    def press(self, act: str, key: str, where: str) -> None:
        """Press a key, and wait until something in the elements `where` is shown anew."""
        self.page.evaluate(_UNTIL_CHANGED, where)
        self.page.keyboard.press(key)
        shown = self.page.evaluate(_SHOWN)
        self.page.wait_for_timeout(60)  # a long task is told after it has ended
        times = self.times.setdefault(act, Times())
        times.shown.append(shown)
        times.blocked.append(self.page.evaluate("window.longest"))


def judge_at_the_desk(page: Any, rounds: int) -> dict[str, Times]:
    """Go from group to group; give points with a reason; take them back; search for students."""
    watched = Watched(page)
    for number in range(rounds):
        there_and_back = "jk"[number % 2]  # a class may have fewer groups than there are rounds
        watched.press("다음 묶음", there_and_back, "#title, #round")
        page.keyboard.press("s")
        page.keyboard.type("+1")
        page.keyboard.press("Escape")
        page.keyboard.press("c")
        page.keyboard.type("거의 다 왔어요")
        watched.press("점수와 까닭 적기", "Control+Enter", "#told, #written")
        page.keyboard.press("Escape")
        page.locator("#title").focus()
        watched.press("되돌리기", "u", "#told, #written")
    page.locator("#find").focus()
    for digit in "s00599":
        watched.press("학생 찾기, 한 글자", digit, "#found, #find")
    return watched.times


def look_at_the_class(page: Any) -> dict[str, Times]:
    """Search the table of the class, letter by letter, and sort it."""
    watched = Watched(page)
    page.get_by_role("searchbox").focus()
    for digit in "s0059":
        watched.press("반에서 찾기, 한 글자", digit, "tbody, [role=status], #count")
    for _ in range(5):
        watched.press("반에서 찾기, 한 글자", "Backspace", "tbody, [role=status], #count")
    return watched.times


def told(title: str, times: dict[str, Times]) -> None:
    """Print one line for each kind of act."""
    print(f"\n{title}\n{'':28}{'shown, ms':>20}{'blocked, ms':>14}")
    for act, its in times.items():
        shown = f"{statistics.median(its.shown):.0f} (most {max(its.shown):.0f})"
        print(f"{act:28}{shown:>20}{max(its.blocked):>14.0f}   n = {len(its.shown)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--students", type=int, default=600)
    parser.add_argument("--rounds", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        # Before the browser starts, because the run waits for all child processes of this one.
        took = ours(Path(name), arguments.students, os.cpu_count() or 1, wrong=True)
        print(f"{arguments.students} students graded in {took.seconds:.0f} s", flush=True)
        report = Path(name) / "report"
        with running_browser() as browser:
            desk = Desk(report, "조교", EXERCISES, lambda: rules_in(report), anonymous=False)
            with running_desk(desk, report) as running:
                page = browser.new_page(viewport={"width": 1280, "height": 900})
                page.goto(running.address)
                page.wait_for_selector("#programs article")
                told("desk", judge_at_the_desk(page, arguments.rounds))
            page = browser.new_page(viewport={"width": 1280, "height": 900})
            page.goto(report.joinpath("index.html").as_uri())
            told("class page", look_at_the_class(page))
    print(f"\n{os.cpu_count()} cores")


if __name__ == "__main__":
    main()
