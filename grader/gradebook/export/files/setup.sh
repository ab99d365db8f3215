#!/usr/bin/env bash
# Runs once, as root, while Gradescope builds the image: Python, bubblewrap, and what hanstep needs.
# The containers have no GPU, so torch comes from PyTorch's own index, without CUDA: 1 GB in all instead of 5.
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
torch="$(grep '^torch==' "$root/source/requirements.txt")"
"$root/venv/bin/pip" install --quiet --no-cache-dir --no-deps --index-url https://download.pytorch.org/whl/cpu "$torch" ||
    echo "CPU용 PyTorch를 받지 못해서 기본 주소에서 받아요. 이미지가 5 GB쯤 돼요." >&2
"$root/venv/bin/pip" install --quiet --no-cache-dir -r "$root/source/requirements.txt"
