"""One watch from beginning to end: observers on, script runs, observers off, findings told."""

import gc
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

import torch
from rich.console import Console

from grader.scripts import card, crashes, rules
from grader.scripts.facts import OptimizerBuilt
from grader.scripts.findings import Language, Told
from grader.scripts.observers import patches
from grader.scripts.patches import LATE, Patches
from grader.scripts.places import own_place
from grader.scripts.report import Report, as_json
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


class Session:
    """Watches from `begin` to `end`, or until enough updates were seen.

    A model that is trained only then (a student behind its teacher, the next fold's) is watched once more: its findings
    are told at the end.
    """

    def __init__(self, script: str, folder: str, options: Options) -> None:
        self.options = options
        self.watch = Watch(script, folder, options.updates, self._enough)
        self.patches = patches(self.watch)
        self.watch.hook_steps = self.patches.hook_steps
        self.watch.stage_began = self._stage_began
        self.report: Report | None = None
        self._stages: list[tuple[Watch, Patches]] = []
        """Watches of later stages, each put on over the ones before."""

    def begin(self, *, late: bool = False) -> None:
        """Put the observers on; `late`: optimizers may exist already."""
        if late:
            for optimizer in _optimizers():
                self.watch.optimizer(optimizer)
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
                Console(stderr=True).print(card.reminder(self.report, self.options.language))
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
        with self.patches.surviving():
            card.show(report, language, console)
            return
        console.print(card.reminder(report, language))

    def _files(self) -> None:
        assert self.report is not None
        if self.options.json:
            written = as_json(self.report, self.options.language)
            if self.options.json == "-":
                print(written.decode(), flush=True)
            else:
                Path(self.options.json).write_bytes(written)
        if self.options.html:
            # Only a page needs the templates: a run without one starts quicker.
            from grader.scripts import page

            Path(self.options.html).write_text(
                page.page(self.report, self.options.language), encoding="utf-8"
            )

    def _say_files(self) -> None:
        """Say which files were written."""
        written = [name for name in (self.options.json, self.options.html) if name and name != "-"]
        said = "에 썼어요\n" if self.options.language == "ko" else " written\n"
        sys.stderr.writelines(name + said for name in written)


def _optimizers() -> list[torch.optim.Optimizer]:
    """Return the optimizers that live."""
    return [
        one
        for one in gc.get_objects()
        if issubclass(type(one), torch.optim.Optimizer) and hasattr(one, "param_groups")
    ]


def shown(error: BaseException) -> str:
    """Format an exception without the frames of this room."""
    here = str(Path(__file__).resolve().parent)
    whole = traceback.TracebackException.from_exception(error)
    whole.stack = traceback.StackSummary.from_list(
        [f for f in whole.stack if not f.filename.startswith(here)]
    )
    return "".join(whole.format())


def print_crash(report: Report) -> None:
    """Print the script's own traceback."""
    if report.crash is not None:
        sys.stderr.write(report.crash)
