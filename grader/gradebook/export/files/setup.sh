#!/usr/bin/env bash
# Runs once, as root, while Gradescope builds the image: Python, bubblewrap, and what hanstep needs.
# A torch for processors alone is much smaller: put its index, as PyTorch's install page names it, into PIP_EXTRA_INDEX_URL.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive
root="${AUTOGRADER_ROOT:-/autograder}"

apt-get update -qq
apt-get install -y -qq --no-install-recommends bubblewrap python3 python3-venv
python=python3
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    apt-get install -y -qq --no-install-recommends python3.11 python3.11-venv
    python=python3.11
fi
"$python" -m venv "$root/venv"
"$root/venv/bin/pip" install --quiet --no-cache-dir -r "$root/source/requirements.txt"
