"""Tell what a handed-in file is, by its name and by its content: a notebook, a script, or a document with code in it.

Browsers and Windows add `.txt` or `.json` to a notebook's name; people save a notebook as `.py`, or a script as
`.ipynb`. So the content decides. What is no source by its name (Markdown, HTML, plain text) is a *document*: it is read
only if no source answers an exercise.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Literal

from grader.submission.deepnote import notebook_of_project
from grader.submission.notebook_json import is_notebook
from grader.submission.syntax import DEFINED_NAME

MAX_DOCUMENT_BYTES = 4 * 2**20
"""Largest document that is read; a lesson as HTML has 0.4 MB."""
DOCUMENTS = (".txt", ".json", ".md", ".markdown", ".rmd", ".qmd", ".html", ".htm", ".python")
"""Suffixes of documents; `.python` is a notebook in an archive of Databricks."""
_SOURCE = re.compile(
    r"(?P<stem>.+)\.(?:ipynb|pyw?|deepnote)(?:[. ]?(?:txt|json|download)|[ ]?\(\d{1,3}\))*", re.I | re.S
)
_CODE = re.compile(rf"^[ \t]*+(?:{DEFINED_NAME}|import[ \t]|from[ \t]++[\w.]++[ \t]++import\b)", re.MULTILINE)
_BREAKS = frozenset(("p", "div", "br", "li", "tr", "pre", "h1", "h2", "h3", "h4"))
"""Elements of HTML that begin a line."""
_UNREAD = frozenset(("script", "style", "head"))
"""Elements whose content is not shown."""


def is_source(name: str) -> bool:
    """Return True if a file's name is that of a notebook or a program, whatever was added to it."""
    return bool(_SOURCE.fullmatch(name))


def is_document(name: str) -> bool:
    """Return True if a file's name is that of a text that may hold code, or has no suffix."""
    return not is_source(name) and ("." not in name or name.lower().endswith(DOCUMENTS))


def stem(name: str) -> str:
    """Return the name of a source without its suffixes; any other name without its last one."""
    found = _SOURCE.fullmatch(name)
    return found["stem"] if found else name.rpartition(".")[0] or name


@dataclass(frozen=True)
class Form:
    """A file's text, ready to be cut into cells."""

    kind: Literal["notebook", "script"]
    text: str
    note: str = ""
    """Korean line on a form that the name does not tell; empty if it does."""


def form_of(name: str, text: str) -> Form:
    """Tell what the text of a file is.

    Args:
        name: the file's name.
        text: its content.

    Raises:
        ReadError: it is called a project of Deepnote, and is none.
    """
    named_notebook = bool(re.search(r"\.ipynb\b", name, re.I))
    if re.search(r"\.deepnote\b", name, re.I) and not is_notebook(text):
        return Form("notebook", notebook_of_project(text), "Deepnote 프로젝트의 코드 블록을 읽었어요.")
    if is_notebook(text):
        return Form(
            "notebook", text, "" if named_notebook else "이름과 달리 노트북이어서 노트북으로 읽었어요."
        )
    if text.lstrip()[:1] == "<" and (cells := _cells_of_page(text)):
        made = {"cells": [{"cell_type": "code", "source": cell} for cell in cells]}
        return Form("notebook", json.dumps(made), "웹 페이지(HTML)에 든 코드를 읽었어요.")
    if not named_notebook:
        return Form("script", text)
    if text.lstrip()[:1] not in ("{", "[", "<", "") and _CODE.search(text):
        return Form("script", text, "이름과 달리 노트북이 아니어서 Python 코드로 읽었어요.")
    return Form("notebook", text)


def _cells_of_page(text: str) -> Sequence[str]:
    """Return the code on a web page: its highlighted blocks, or all of its text as one; empty if nothing is defined."""
    page = _Page()
    page.feed(text)
    page.close()
    cells = ["".join(block).replace("\xa0", " ") for block in page.blocks or [page.all]]
    return [cell for cell in cells if cell.strip()] if any(map(_CODE.search, cells)) else []


class _Page(HTMLParser):
    """Collects the text of a web page, and of the blocks of Python that nbconvert and others highlight."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[list[str]] = []
        self.all: list[str] = []
        self._unread = 0
        self._highlighted: list[bool] = []
        """For each `div` that is open: whether it is one of highlighted Python."""
        self._inside = False

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        classes = (dict(attributes).get("class") or "").split()
        if tag in _UNREAD:
            self._unread += 1
        elif tag == "div":
            self._highlighted.append(
                "highlight" in classes and any("python" in c or c == "source-python" for c in classes)
            )
        elif tag == "pre" and any(self._highlighted[-1:]):
            self._inside = True
            self.blocks.append([])
        if tag in _BREAKS:
            self.all.append("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNREAD:
            self._unread = max(self._unread - 1, 0)
        elif tag == "div":
            del self._highlighted[-1:]
        elif tag == "pre":
            self._inside = False

    def handle_data(self, data: str) -> None:
        if self._inside:
            self.blocks[-1].append(data)
        if not self._unread:
            self.all.append(data)
