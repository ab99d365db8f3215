"""Draw a report as a card in the terminal."""

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.scripts.findings import Language, Said, Told
from grader.scripts.report import Report, where
from grader.scripts.timeline import timeline

_STYLES = {"bug": "bold red", "warning": "bold yellow", "info": "bold cyan"}
_NAMES = {
    "bug": Said("틀렸어요", "bug"),
    "warning": Said("살펴보세요", "warning"),
    "info": Said("일부러 그랬나요?", "on purpose?"),
}
_BAR = 12


def show(report: Report, language: Language, console: Console) -> None:
    """Print the card."""
    console.print(card(report, language))


def card(report: Report, language: Language) -> RenderableType:
    """Draw the card: findings worst first, then the last two updates."""
    parts: list[RenderableType] = [_heading(report, language)]
    for told in report.told:
        parts += [Text(), _finding(told, report, language)]
    rows = _rows(report, language)
    if rows is not None:
        parts += [Text(), rows]
    if report.failures:
        parts.append(
            Text(_said(language, "관찰하지 못한 곳이 있어요: ", "Not observed: ") + repr(report.failures[0]))
        )
    return Panel(Group(*parts), title="한 스텝 xray", title_align="left", padding=(1, 2))


def _said(language: Language, ko: str, en: str) -> str:
    return ko if language == "ko" else en


def _heading(report: Report, language: Language) -> Text:
    facts = report.facts
    name = facts.script.rpartition("/")[2]
    seen = _said(
        language,
        f"{name}: 업데이트 {facts.updates}번을 지켜봤어요. ",
        f"{name}: {facts.updates} updates watched. ",
    )
    count = len(report.told)
    if facts.updates == 0 and not count:
        return Text(
            seen + _said(language, "업데이트까지 가지 못했어요.", "It never came to an update."), style="bold"
        )
    found = (
        _said(language, f"말할 것이 {count}가지 있어요.", f"{count} finding{'s' * (count != 1)}.")
        if count
        else _said(language, "잘못된 것을 찾지 못했어요.", "Nothing wrong was found.")
    )
    return Text(seen + found, style="bold")


def _finding(told: Told, report: Report, language: Language) -> Text:
    finding = told.finding
    text = Text()
    text.append(f"{_NAMES[told.severity].in_(language)} ", style=_STYLES[told.severity])
    text.append(told.rule.title.in_(language), style="bold")
    text.append(f"  {where(finding.place, report.facts.folder)}\n", style="cyan")
    text.append(finding.sentence.in_(language) + "\n")
    text.append(finding.evidence.in_(language) + "\n", style="dim")
    if finding.diff is not None:
        text.append(f"- {finding.diff[0]}\n", style="red")
        text.append(f"+ {finding.diff[1]}\n", style="green")
    if finding.mend is not None:
        text.append("→ " + finding.mend.in_(language) + "\n")
    text.append(
        _said(language, "배우는 곳: ", "Taught in: ") + told.rule.lesson + f"   [{told.rule.id}]", style="dim"
    )
    return text


def _rows(report: Report, language: Language) -> Table | None:
    rows = timeline(report.facts)
    if not rows:
        return None
    title = _said(language, "마지막 두 업데이트", "The last two updates")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), show_header=False)
    before = None
    for row in rows:
        number = f"{row.update}" if row.update != before else ""
        before = row.update
        note = Text(row.note)
        if row.step is not None and row.step.recipe:
            largest = max(map(abs, row.step.recipe.values()))
            shares = [abs(value) / largest for _, value in list(reversed(row.step.recipe.items()))[:8]]
            note.append(
                "  " + " ".join("█" * max(1, round(_BAR / 2 * share)) for share in shares), style="blue"
            )
        line = f"{row.line}" if row.code else ""
        table.add_row(number, row.kind, line, Text(row.code[:60], style="dim"), note)
    return table
