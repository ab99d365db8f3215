"""Run `xray` on the sample script that the first pages show, and keep its report as a page of the site."""

import subprocess
import sys
import tempfile
from pathlib import Path

import msgspec

from grader.paths import asset_path
from grader.scripts.findings import Language

REPORTS: dict[Language, str] = {"ko": "xray.html", "en": "xray_en.html"}
"""Where the site keeps the report in each language."""
_BACK: dict[Language, tuple[str, str]] = {"ko": ("index.html", "한 스텝"), "en": ("en.html", "hanstep")}
"""By language, the page of the site from which the report is linked, and the text of the link back."""


class Finding(msgspec.Struct, frozen=True):
    """What the first page quotes of a finding; the other fields of the report are not needed here."""

    title: str
    line: int
    sentence: str
    evidence: str


class _Report(msgspec.Struct, frozen=True):
    findings: list[Finding]


def sample_script() -> str:
    """Return the text of the script, from which learners see nothing but its falling and rising loss."""
    return asset_path("site", "train.py").read_text(encoding="utf-8")


def write_report(folder: Path, language: Language) -> Finding:
    """Write the report into a folder of the site and return its first finding.

    Raises:
        RuntimeError: xray found nothing in the sample script, which is wrong on purpose.
    """
    with tempfile.TemporaryDirectory() as other:
        found = Path(other, "found.json")
        command = [sys.executable, "-m", "grader.scripts"]
        options = ["--lang", language, "--json", str(found), "--html", str(folder / REPORTS[language])]
        ran = subprocess.run(
            [*command, *options, str(asset_path("site", "train.py"))],
            capture_output=True,
            text=True,
            check=False,
        )
        findings = msgspec.json.decode(found.read_bytes(), type=_Report).findings if found.exists() else []
    if not findings:
        raise RuntimeError(f"xray found nothing in train.py of the site:\n{ran.stderr}")
    report = folder / REPORTS[language]
    page, title = _BACK[language]
    link = f'<body>\n<nav><a href="{page}">← {title}</a></nav>'
    report.write_text(report.read_text(encoding="utf-8").replace("<body>", link, 1), encoding="utf-8")
    return findings[0]
