"""`from grader import xray`: watch a loop in a notebook or inside one's own program."""

import os
import sys
from types import TracebackType
from typing import Literal

from grader.scripts.findings import Language
from grader.scripts.places import own_place
from grader.scripts.report import Report
from grader.scripts.session import Options, Session


class xray:
    """Watch the training loop inside `with xray():` and print what is wrong with it.

    Args:
        updates: how many updates to watch; by default at least 40, and until an evaluation was seen.
        lang: "ko" or "en".
        html: file for a page.
        json: file for the findings.

    After the block, `report` holds what was found.
    """

    def __init__(
        self,
        updates: int | None = None,
        *,
        lang: Language = "ko",
        html: str | None = None,
        json: str | None = None,
    ) -> None:
        place = own_place()
        script = place.file if place is not None else sys.argv[0]
        self._session = Session(script, os.path.dirname(script), Options(updates, False, json, html, lang))
        self._session.watch.facts.block = True
        self.report: Report | None = None

    def __enter__(self) -> "xray":
        self._session.begin(late=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> Literal[False]:
        self.report = self._session.end(error, status=None)
        return False
