"""A site of the course and two mistakes, and how to read its pages."""

import html
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from grader.course.course import Course
from grader.course.reading import load_course
from grader.report.plain_text import JOINER
from grader.site.gallery import GalleryEntry, gallery_entries
from grader.site.old_addresses import MARK
from grader.site.settings import Addresses
from grader.site.xray_report import REPORTS

ADDRESSES = Addresses(repository="someone/hanstep", url="https://someone.example/hanstep")
SHOWN: tuple[GalleryEntry, ...] = gallery_entries()[:2]


def the_course() -> Course:
    """The course."""
    return load_course()


def pages(site: Path) -> list[Path]:
    """All pages that the theme made: without the old addresses that only lead on, and without xray's reports."""
    made = [path for path in sorted(site.rglob("*.html")) if path.name not in REPORTS.values()]
    return [path for path in made if MARK not in path.read_text(encoding="utf-8")]


@dataclass(frozen=True)
class Page:
    """A finished page."""

    path: Path

    @cached_property
    def source(self) -> str:
        """As the browser gets it."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def text(self) -> str:
        """What can be read on it, in one line; without what only keeps a line from breaking."""
        body = re.sub(r"<(script|style)\b.*?</\1>", " ", self.source, flags=re.DOTALL)
        return " ".join(html.unescape(re.sub(r"<[^>]+>", "", body)).replace(JOINER, "").split())

    @cached_property
    def code(self) -> str:
        """What stands in its blocks of code."""
        blocks = re.findall(r"<pre>(.*?)</pre>", self.source, flags=re.DOTALL)
        return html.unescape(re.sub(r"<[^>]+>", "", "\n".join(blocks)))

    def count(self, name: str) -> int:
        """How many elements have the class."""
        return len(re.findall(rf'class="[^"]*\b{name}\b[^"]*"', self.source))
