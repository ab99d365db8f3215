"""The blank loop that learners take along: it parses, and filled with lesson 02's functions it trains."""

import ast
import re
import textwrap
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from grader.course.reading import load_course
from grader.judging.solution import solution_source
from grader.observe.program import load_program
from grader.paths import lessons_path

TEMPLATE = lessons_path("02_loop_anatomy", "loop_template.py").read_text(encoding="utf-8")
BLANK = re.compile(r"^( *)(?:\w+ = )?\.\.\.  # 빈칸 (\d+)$", re.MULTILINE)
FILLED = {
    1: "seed_everything(cfg.seed)",
    2: "opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)",
    3: "scheduler = warmup_cosine(opt, cfg.warmup_steps, cfg.total_steps)",
    4: "checkpoint = BestCheckpoint(checkpoint_path)",
    5: "model.train()",
    6: "opt.zero_grad()",
    7: "loss = F.cross_entropy(model(xb), yb)",
    8: "loss.backward()",
    9: "torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.max_norm)",
    10: "opt.step()",
    11: "scheduler.step()",
    12: """model.eval()
with torch.no_grad():
    pairs = [(model(xb.to(device)).argmax(dim=1), yb.to(device)) for xb, yb in val_loader]
accuracy = sum((found == yb).sum().item() for found, yb in pairs) / sum(len(yb) for _, yb in pairs)""",
    13: "checkpoint.update(accuracy, model=model, opt=opt, scheduler=scheduler, step=step, config=cfg)",
}


def test_it_parses_and_its_blanks_are_numbered() -> None:
    ast.parse(TEMPLATE)
    assert [int(number) for _, number in BLANK.findall(TEMPLATE)] == sorted(FILLED)
    assert [int(n) for n in re.findall(r"# (\d+)\. ", TEMPLATE)] == sorted(FILLED), (
        "each says what belongs there"
    )
    assert len(re.findall(r"^ .*\.\.\.", TEMPLATE, re.MULTILINE)) == len(FILLED), "nothing else is left out"


def test_it_defines_no_exercise() -> None:
    """A learner who hands in the whole folder hands in no second `train`."""
    defined = {
        node.name for node in ast.parse(TEMPLATE).body if isinstance(node, ast.FunctionDef | ast.ClassDef)
    }
    assert not defined & set(load_course().exercises)


def test_the_lesson_links_it() -> None:
    lesson = load_course().lesson("02")
    assert any("(loop_template.py)" in part.notebook.read_text(encoding="utf-8") for part in lesson.parts)


def test_filled_it_trains(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = BLANK.sub(lambda blank: textwrap.indent(FILLED[int(blank[2])], blank[1]), TEMPLATE)
    functions = load_program(solution_source("02"), name="lesson_02").names
    names: dict[str, Any] = {k: functions[k] for k in ("seed_everything", "warmup_cosine", "BestCheckpoint")}
    exec(compile(text, "loop_template.py", "exec"), names)
    generator = torch.Generator().manual_seed(0)
    inputs = torch.randn(1000, 8, generator=generator)
    data = TensorDataset(inputs, (inputs[:, :3]).argmax(dim=1))
    train, val = (TensorDataset(*data[part]) for part in (slice(800), slice(800, None)))
    cfg = functions["TrainConfig"](lr=0.02, epochs=4, warmup_steps=5, total_steps=100)
    model = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 3))
    loaders = DataLoader(train, cfg.batch_size, shuffle=True), DataLoader(val, 64)
    best = names["run"](model, *loaders, cfg, checkpoint_path=tmp_path / "best.pt")
    assert best > 0.85
    stored = torch.load(tmp_path / "best.pt", weights_only=True)
    assert stored["score"] == best
    assert stored["step"] % 25 == 0
    assert capsys.readouterr().out.count("검증 정확도") == cfg.epochs
