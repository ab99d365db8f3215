"""Draw a report as a card in the terminal."""

import linecache

from rich.console import Console, Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from grader.scripts.findings import Language, Said, Told
from grader.scripts.report import Report, advice, where
from grader.scripts.scope import heading, legend, remarks
from grader.scripts.timeline import Row, shares_of, timeline

_STYLES = {"bug": "bold red", "warning": "bold yellow", "info": "bold cyan"}
KINDS_OF_SEVERITY = {
    "bug": Said("틀렸어요", "bug:"),
    "warning": Said("살펴보세요", "warning:"),
    "info": Said("일부러 그랬나요?", "on purpose?"),
}
_BAR = 12
_CODE_WIDTH = 34
_BESIDE_CODE = 14
"""Columns of a line of the card beside its code: frame, margins and the line's number."""
_LONGEST_LINE = 90
"""Longer lines of a script are cut, in columns: what is told of them stands in the sentence."""


def show(report: Report, language: Language, console: Console) -> None:
    """Print the card."""
    console.print(card(report, language, console.width))


def card(report: Report, language: Language, width: int) -> RenderableType:
    """Draw the card, so many columns wide: findings worst first, then the last two updates."""
    parts: list[RenderableType] = [Text(heading(report, language), style="bold")]
    parts += [Text(remark, style="dim") for remark in remarks(report, language)]
    for told in report.told:
        parts += [Text(), _finding(told, report, language, min(_LONGEST_LINE, width - _BESIDE_CODE))]
    rows = timeline(report.facts)
    if rows:
        parts += [Text(), _table(rows, language), Text(legend(rows, language), style="dim")]
    if report.failures:
        parts.append(
            Text(_said(language, "관찰하지 못한 곳이 있어요: ", "Not observed: ") + repr(report.failures[0]))
        )
    return Panel(Group(*parts), title="한 스텝 xray", title_align="left", padding=(1, 2))


def reminder(report: Report, language: Language) -> Text:
    """Repeat the findings in one line each: what the script printed since has pushed the card away."""
    text = Text(heading(report, language) + "\n", style="bold")
    for told in report.told:
        text.append(f"  {KINDS_OF_SEVERITY[told.severity].in_(language)} ", style=_STYLES[told.severity])
        text.append(f"{told.rule.title.in_(language)}  ")
        text.append(f"{where(told.finding.place, report.facts.folder, language)}\n", style="cyan")
    return text


def _said(language: Language, ko: str, en: str) -> str:
    return ko if language == "ko" else en


def _finding(told: Told, report: Report, language: Language, longest: int) -> Text:
    finding = told.finding
    text = Text()
    text.append(f"{KINDS_OF_SEVERITY[told.severity].in_(language)} ", style=_STYLES[told.severity])
    text.append(told.rule.title.in_(language), style="bold")
    text.append(f"  {where(finding.place, report.facts.folder, language)}\n", style="cyan")
    text.append(finding.sentence.in_(language) + "\n")
    text.append(finding.evidence.in_(language) + "\n", style="dim")
    own_line = linecache.getline(finding.place.file, finding.place.line).strip() if finding.place else ""
    if finding.diff is None and finding.place is not None and own_line:
        shown = own_line if len(own_line) <= longest else own_line[: longest - 1] + "…"
        text.append(f"{finding.place.line:>5} │ {shown}\n", style="magenta")
    if finding.diff is not None:
        text.append(f"- {finding.diff[0]}\n", style="red")
        text.append(f"+ {finding.diff[1]}\n", style="green")
    if finding.mend is not None:
        text.append("→ " + advice(finding.mend, report.facts, language) + "\n")
    taught = (
        _said(language, "배우는 곳: ", "Taught in: ") + f"{told.rule.lesson}   " if told.rule.lesson else ""
    )
    text.append(f"{taught}[{told.rule.id}]", style="dim")
    return text


def _table(rows: list[Row], language: Language) -> Table:
    title = _said(language, "마지막 두 업데이트", "The last two updates")
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1), show_header=False)
    table.add_column()
    table.add_column(no_wrap=True)
    table.add_column()
    table.add_column(no_wrap=True, overflow="ellipsis", max_width=_CODE_WIDTH, style="dim")
    table.add_column(ratio=1)
    before = None
    for row in rows:
        number = f"{row.update}" if row.update != before else ""
        before = row.update
        note = Text(row.note)
        if shares := shares_of(row):
            note.append(
                "  " + " ".join("█" * max(1, round(_BAR / 2 * share)) for share in shares), style="blue"
            )
        line = f"{row.line}" if row.code else ""
        table.add_row(number, row.kind, line, row.code, note)
    return table
