"""One watch from beginning to end: observers on, script runs, observers off, findings told."""

import contextlib
import gc
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from grader.scripts import card, crashes, rules
from grader.scripts.eager import Eager
from grader.scripts.facts import OptimizerBuilt
from grader.scripts.findings import Language, Said, Told
from grader.scripts.observers import patches
from grader.scripts.own_warnings import OwnWarnings
from grader.scripts.patches import LATE, Patches
from grader.scripts.places import own_place
from grader.scripts.report import Report, as_json
from grader.scripts.scope import remarks
from grader.scripts.source import assigned_attributes
from grader.scripts.watch import Watch, WatchOver


@dataclass(frozen=True, slots=True)
class Options:
    """How to watch and what to write."""

    updates: int | None = None
    stop: bool = False
    json: str | None = None
    html: str | None = None
    language: Language = "ko"


_MOST_STAGES = 3
_HERE = str(Path(__file__).resolve().parent)


class Session:
    """Watches from `begin` to `end`, or until enough updates were seen.

    A model that is trained only then (a student behind its teacher, the next fold's) is watched once more: its findings
    are told at the end.
    """

    def __init__(self, script: str, folder: str, options: Options, *, output: int | None = None) -> None:
        self.options = options
        self._output = output
        """The descriptor to which a report for standard output goes, if the script's own goes elsewhere."""
        self.watch = Watch(script, folder, options.updates, self._enough)
        self.patches = patches(self.watch)
        self.watch.hook_steps = self.patches.hook_steps
        self.watch.stage_began = self._stage_began
        self._eager, self._warnings = Eager(), OwnWarnings()
        self.report: Report | None = None
        self._written: dict[str, str] = {}
        """By name of a file: what to say of writing it."""
        self._stages: list[tuple[Watch, Patches]] = []
        """Watches of later stages, each put on over the ones before."""

    def begin(self, *, late: bool = False) -> None:
        """Put the observers on; `late`: optimizers may exist already."""
        if late:
            for optimizer in _optimizers():
                self.watch.optimizer(optimizer)
        self._eager.begin()
        self._warnings.begin()
        self.patches.put_on()
        if assigned_attributes(self.watch.facts.script):
            self.patches.hook_steps()

    def _enough(self) -> None:
        if self.report is None:
            self.patches.take_off(LATE)
            self._tell()
            if self.options.stop:
                raise WatchOver

    def _stage_began(self, optimizer: torch.optim.Optimizer) -> None:
        """Watch anew if an optimizer was built after the watch and trains nothing that was seen in it."""
        watches = [self.watch, *(watch for watch, _ in self._stages)]
        given = [parameter for group in optimizer.param_groups for parameter in group["params"]]
        known = any(watch.parameters.find(one) is not None for watch in watches for one in given)
        if known or not watches[-1].over or len(watches) >= _MOST_STAGES or self.report is None:
            return
        watch = Watch(
            self.watch.facts.script, self.watch.facts.folder, self.options.updates, self._stage_over
        )
        watch.births = {
            key: (module, place, 0, inside) for key, (module, place, _, inside) in self.watch.births.items()
        }
        watch.birth_callers = dict(self.watch.birth_callers)
        put_on = patches(watch)
        watch.hook_steps = put_on.hook_steps
        self._stages.append((watch, put_on))
        for one in _optimizers():
            watch.optimizer(one, own_place() if one is optimizer else None)
        watch.add(OptimizerBuilt(optimizer=watch.optimizer(optimizer)))
        put_on.put_on()

    def _stage_over(self) -> None:
        watch, put_on = self._stages[-1]
        put_on.take_off(LATE)
        self._judge(watch, put_on)

    def _judge(self, watch: Watch, put_on: Patches) -> None:
        """Add what is found of a later stage to the report."""
        watch.finish(put_on.surviving)
        self._add(rules.findings(watch.facts, put_on.failures))

    def _add(self, found: list[Told]) -> None:
        assert self.report is not None
        known = {(told.rule.id, told.finding.place) for told in self.report.told}
        self.report.told += [one for one in found if (one.rule.id, one.finding.place) not in known]

    def _end_stages(self, error: BaseException | None, status: int | None) -> None:
        """End the watches of later stages, the last one first, and judge those that are not over."""
        for watch, put_on in reversed(self._stages):
            put_on.take_off()
            watch.facts.whole = error is None and status == 0
            if watch.over:
                self._add(rules.findings(watch.facts, put_on.failures, late=True))
            elif error is None:
                watch.facts.ended = True
                self._judge(watch, put_on)
            self.patches.failures += put_on.failures

    def end(self, error: BaseException | None = None, status: int | None = 0) -> Report:
        """End the watch if it is not over yet; explain an exception that ended the script."""
        told_before = self.report is not None
        self._end_stages(error, status)
        self.patches.take_off()
        self._eager.end()
        self._warnings.end()
        self.watch.facts.whole = error is None and status == 0
        if self.report is None:
            self.watch.facts.ended = error is None
            self._tell(error)
        assert self.report is not None
        self.report.script_status = status
        if error is not None and told_before:
            self.report.crash = shown(error)
            explained = self._explained(error)
            if explained is not None:
                self.report.told = [explained]
                self._write()
        else:
            if told_before:
                self._add(rules.findings(self.watch.facts, self.patches.failures, late=True))
            if told_before or status:
                self._files()
            if told_before and self.report.told and self.options.json != "-":
                with contextlib.suppress(BrokenPipeError):
                    Console(stderr=True).print(card.reminder(self.report, self.options.language))
        self._print_json()
        self._say_files()
        return self.report

    def _tell(self, error: BaseException | None = None) -> None:
        self.watch.finish(self.patches.surviving)
        found = rules.findings(self.watch.facts, self.patches.failures)
        crash = None
        if error is not None:
            crash = shown(error)
            explained = self._explained(error)
            if explained is not None:
                found.insert(0, explained)
        self.report = Report(self.watch.facts, found, crash, None, self.patches.failures)
        self._write()

    def _explained(self, error: BaseException) -> Told | None:
        with self.patches.surviving():
            return crashes.explained(error, self.watch.facts)
        return None

    def _write(self) -> None:
        assert self.report is not None
        if self.options.json != "-":
            self._show(self.report)
        self._files()

    def _show(self, report: Report) -> None:
        """Print the card, or one line for each finding if it cannot be drawn."""
        console, language = Console(stderr=True), self.options.language
        with contextlib.suppress(BrokenPipeError):  # nobody reads; the files are written all the same
            with self.patches.surviving():
                card.show(report, language, console)
                return
            console.print(card.reminder(report, language))

    def _files(self) -> None:
        """Write the files; a full disk ends neither the script nor the watch."""
        assert self.report is not None
        if self.options.json not in (None, "-"):
            self._write_file(self.options.json, self._json())
        if self.options.html:
            # Only a page needs the templates: a run without one starts quicker.
            from grader.scripts import page

            self._write_file(self.options.html, page.page(self.report, self.options.language).encode())

    def _json(self) -> bytes:
        assert self.report is not None
        language = self.options.language
        return as_json(self.report, language, remarks(self.report, language))

    def _write_file(self, name: str, content: bytes) -> None:
        korean = self.options.language == "ko"
        try:
            Path(name).write_bytes(content)
        except OSError as error:
            why = error.strerror or error
            self._written[name] = (
                f"을 쓰지 못했어요 ({why})\n" if korean else f" could not be written ({why})\n"
            )
        else:
            self._written[name] = "에 썼어요\n" if korean else " written\n"

    def _print_json(self) -> None:
        """Write the report to standard output, once, when all is known."""
        assert self.report is not None
        if self.options.json == "-":
            written = self._json() + b"\n"
            with contextlib.suppress(BrokenPipeError):
                if self._output is None:
                    print(written.decode(), end="", flush=True)
                else:
                    with open(self._output, "wb", closefd=False) as output:
                        output.write(written)

    def _say_files(self) -> None:
        """Say which files were written."""
        with contextlib.suppress(BrokenPipeError):
            sys.stderr.writelines(name + said for name, said in self._written.items())


def _optimizers() -> list[torch.optim.Optimizer]:
    """Return the optimizers that live."""
    return [
        one
        for one in gc.get_objects()
        if issubclass(type(one), torch.optim.Optimizer) and hasattr(one, "param_groups")
    ]


def shown(error: BaseException) -> str:
    """Format an exception without the frames of this room."""
    whole = traceback.TracebackException.from_exception(error)
    todo: list[traceback.TracebackException | None] = [whole]
    for one in todo:
        if one is not None:
            frames = [frame for frame in one.stack if not frame.filename.startswith(_HERE)]
            one.stack = traceback.StackSummary.from_list(frames)
            todo += [one.__cause__, one.__context__]
    return "".join(whole.format())


def print_crash(report: Report, language: Language) -> None:
    """Print the script's own traceback, and whether the watch itself may be to blame."""
    if report.crash is None:
        return
    sys.stderr.write(report.crash)
    if _HERE in report.crash or report.failures:
        said = Said(
            "xray 때문에 난 오류일 수 있어요. xray 없이 실행할 때 나지 않으면 이 글과 함께 알려 주세요.\n",
            "xray itself may be the cause. If the script runs without it, please report this text.\n",
        )
        sys.stderr.write(said.in_(language))
