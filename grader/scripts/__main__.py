"""`python -m grader.scripts train.py`: the command `grader xray` from a light install."""

import sys

from grader.scripts.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], "python -m grader.scripts"))
