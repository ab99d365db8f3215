"""Every table, by one command: classes beside nbgrader and Otter, growth, the sandbox's layers, a learner's waiting.

Run by hand on a quiet machine (an hour); pytest does not collect it. What it takes are `throughput.py`'s options:

    python tests/bench/everything.py --nbgrader /tmp/nbgrader/bin/python --otter /tmp/otter/bin/python \
        --classes 100 1000 10000
"""

import subprocess
import sys
from pathlib import Path

TABLES = ("throughput", "sandbox", "latency")


def main() -> None:
    """Run them one after another: two at once would disturb each other."""
    for name in TABLES:
        print(f"\n## {name}\n", flush=True)
        options = sys.argv[1:] if name == "throughput" else []
        subprocess.run([sys.executable, str(Path(__file__).with_name(f"{name}.py")), *options], check=True)


if __name__ == "__main__":
    main()
