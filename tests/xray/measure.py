"""Measure xray on all scripts and their mended twins: `python -m tests.xray.measure ["said about it"]`.

Prints what was found and writes `measured.json` beside this file; what its `before` says of first looks is kept.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.xray.running import watched

HERE = Path(__file__).parent
SCRIPTS = HERE / "scripts"
NEAR = 2


def measure(script: Path, bugs: list[dict[str, Any]]) -> dict[str, Any]:
    """Run one script watched; a bug counts as found by a finding within `NEAR` lines of its line.

    Or of a line in `also`, where another line is as right: the two of an index entry together make the bug.
    """
    began = time.perf_counter()
    ran = watched(script)
    seconds = round(time.perf_counter() - began, 1)
    findings = ran.found.get("findings", [])
    file = str(script.relative_to(SCRIPTS))
    here = [one for one in findings if one["file"].endswith(script.name)]
    found, missed = [], []
    for bug in bugs:
        lines = [bug["line"], *bug.get("also", [])]
        near = any(abs(one["line"] - line) <= NEAR for one in here for line in lines)
        (found if near else missed).append(f"{bug['id']}:{bug['line']}:{bug['severity']}")
    said = [f"{one['id']}:{one['line']}:{one['severity']}" for one in findings]
    false = [] if bugs else [one for one in said if one.endswith(":bug")]
    return {
        "file": file,
        "status": ran.status,
        "found": found,
        "missed": missed,
        "said": said,
        "called_wrong": false,
        "seconds": seconds,
    }


def main() -> None:
    """Measure everything and write the result."""
    index = json.loads((SCRIPTS / "index.json").read_text(encoding="utf-8"))
    work = [(SCRIPTS / entry["file"], entry["bugs"]) for entry in index]
    work += [(twin, []) for twin in sorted((SCRIPTS / "fixed").glob("*.py"))]
    rows = []
    for script, bugs in work:
        row = measure(script, bugs)
        rows.append(row)
        print(row["file"], *(f"{key}={row[key]}" for key in ("found", "missed", "called_wrong")), flush=True)
    severe = [one for row in rows for one in row["found"] + row["missed"] if one.endswith(":bug")]
    severe_found = [one for row in rows for one in row["found"] if one.endswith(":bug")]
    total = {
        "said": " ".join(sys.argv[1:]),
        "bugs": sum(len(row["found"]) + len(row["missed"]) for row in rows),
        "found": sum(len(row["found"]) for row in rows),
        "severe": len(severe),
        "severe_found": len(severe_found),
        "right_scripts": sum(not bugs for _, bugs in work),
        "called_wrong": sum(bool(row["called_wrong"]) for row in rows),
        "seconds": round(sum(row["seconds"] for row in rows), 1),
    }
    kept = HERE / "measured.json"
    before = json.loads(kept.read_text(encoding="utf-8")).get("before", []) if kept.is_file() else []
    text = json.dumps({"total": total, "before": before, "scripts": rows}, indent=1, ensure_ascii=False)
    kept.write_text(text + "\n", encoding="utf-8")
    print(total)


if __name__ == "__main__":
    main()
