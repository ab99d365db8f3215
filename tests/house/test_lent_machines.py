"""Opening the course on a lent machine: the dev container (VS Code, Codespaces) and Binder. Nothing is downloaded."""

import json
import os
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from grader.course.reading import load_course
from tests.places import ROOT

BINDER = ROOT / ".binder"
CONTAINER = ROOT / ".devcontainer"

TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
# Of the Dev Container specification (containers.dev, JSON reference) what we use. That one too refuses other names.
DEV_CONTAINER = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "image": {"type": "string", "pattern": r"^mcr\.microsoft\.com/devcontainers/python:3\.\d+-\w+$"},
        "hostRequirements": {
            "type": "object",
            "properties": {
                "cpus": {"type": "integer", "minimum": 1},
                "memory": {"type": "string", "pattern": r"^\d+([tgmk]b)?$"},
            },
            "additionalProperties": False,
        },
        "securityOpt": TEXTS,
        "postCreateCommand": {"type": ["string", "array", "object"]},
        "customizations": {
            "type": "object",
            "properties": {
                "vscode": {
                    "type": "object",
                    "properties": {"extensions": TEXTS, "settings": {"type": "object"}},
                    "additionalProperties": False,
                },
                "codespaces": {
                    "type": "object",
                    "properties": {"openFiles": TEXTS},
                    "additionalProperties": False,
                },
            },
        },
    },
    "required": ["image"],
    "additionalProperties": False,
}
# What conda reads in an environment file.
ENVIRONMENT = {
    "type": "object",
    "properties": {"channels": TEXTS, "dependencies": TEXTS},
    "required": ["dependencies"],
    "additionalProperties": False,
}


def test_the_dev_container_is_one_and_opens_the_first_lesson() -> None:
    settings = json.loads((CONTAINER / "devcontainer.json").read_text(encoding="utf-8"))
    jsonschema.validate(settings, DEV_CONTAINER)
    (opened,) = settings["customizations"]["codespaces"]["openFiles"]
    assert opened == f"hanstep/{load_course().parts[0].place}"
    script = settings["postCreateCommand"].removeprefix("bash ")
    assert (ROOT / script).is_file()
    assert f'prepare(Path("{Path(opened).parts[0]}"))' in (ROOT / script).read_text(encoding="utf-8")


def test_binder_gets_files_that_it_reads() -> None:
    jsonschema.validate(yaml.safe_load((BINDER / "environment.yml").read_text("utf-8")), ENVIRONMENT)
    packages = (BINDER / "apt.txt").read_text(encoding="utf-8").split()
    assert "bubblewrap" in packages
    assert all(re.fullmatch(r"[a-z0-9][a-z0-9+.-]+", package) for package in packages)
    assert {path.name for path in BINDER.iterdir()} == {"environment.yml", "apt.txt", "postBuild"}


def test_both_have_the_oldest_python_that_the_course_runs_on() -> None:
    image = json.loads((CONTAINER / "devcontainer.json").read_text(encoding="utf-8"))["image"]
    packages = yaml.safe_load((BINDER / "environment.yml").read_text("utf-8"))["dependencies"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    assert f"python:{oldest}-" in image
    assert f"python={oldest}" in packages


@pytest.mark.parametrize("script", [CONTAINER / "prepare", BINDER / "postBuild"], ids=lambda path: path.name)
def test_their_scripts_install_the_pinned_course_without_cuda(script: Path) -> None:
    assert os.access(script, os.X_OK)
    assert script.read_text(encoding="utf-8").startswith("#!")
    subprocess.run(["bash", "-n", str(script)], check=True)
    lines = script.read_text(encoding="utf-8").splitlines()
    torch = next(n for n, line in enumerate(lines) if line.startswith("bash .ci/cpu-torch "))
    course = next(n for n, line in enumerate(lines) if " -c constraints.txt -e ." in line)
    assert torch < course


def test_the_readme_says_how() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = load_course().parts[0].place
    assert f"urlpath=lab/tree/lessons/{first}" in text
    assert "Codespaces" in text
