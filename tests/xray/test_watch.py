"""The watch itself: it changes nothing, leaves nothing behind, knows the learner's lines, and ends as it promises."""

import copy
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from grader import xray
from grader.scripts import rules
from grader.scripts.facts import Facts
from grader.scripts.findings import Finding
from grader.scripts.patches import LATE, TABLE
from grader.scripts.rules import all_rules
from grader.scripts.scope import course_of, losses_of_updates
from grader.scripts.watch import Watch
from tests.places import ROOT
from tests.xray.running import plain, watched

HEAD = """import random
import numpy as np
import torch
from torch import nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
x = torch.randn(64, 6)
y = (x[:, 0] > 0).long()
model = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.2), nn.Linear(16, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
loader = DataLoader(TensorDataset(x, y), batch_size=16, shuffle=True)
"""
LOOP = """for epoch in range(3):
    for xb, yb in loader:
        loss = F.cross_entropy(model(xb), yb)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(loss.item(), random.random(), np.random.rand())
"""


@pytest.fixture
def script(tmp_path: Path) -> Any:
    def write(text: str) -> Path:
        path = tmp_path / "train.py"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_losses_and_random_numbers_are_the_same_to_the_bit(script: Any) -> None:
    path = script(
        HEAD.replace("import random\n", "import random\nrandom.seed(1)\n", 1) + "np.random.seed(2)\n" + LOOP
    )
    ran = watched(path)
    assert ran.found["updates"] == 12
    assert ran.output == plain(path).output
    assert ran.output.count("\n") == 12


def _attributes() -> list[Any]:
    from importlib import import_module

    found = []
    for owner_name, name, _ in TABLE:
        module, _, kind = owner_name.partition(":")
        owner = import_module(module)
        found.append(vars(getattr(owner, kind) if kind else owner).get(name))
    return found


def test_everything_is_taken_off() -> None:
    from torch.nn.modules import module as modules
    from torch.optim import optimizer as optimizers

    def hooks() -> list[int]:
        return [
            *map(len, (modules._global_forward_hooks, modules._global_forward_pre_hooks)),
            *map(len, (optimizers._global_optimizer_pre_hooks, optimizers._global_optimizer_post_hooks)),
        ]

    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    before, hooks_before = _attributes(), hooks()
    with xray(updates=2) as look:
        assert any(now is not then for now, then in zip(_attributes(), before, strict=True))
        for number in range(4):
            optimizer.zero_grad()
            model(torch.ones(5, 3)).sum().backward()
            optimizer.step()
            if number >= 1:
                off = [now is then for now, then in zip(_attributes(), before, strict=True)]
                assert all(one or row[2] in LATE for one, row in zip(off, TABLE, strict=True))
    assert all(now is then for now, then in zip(_attributes(), before, strict=True))
    assert hooks() == hooks_before
    assert look.report is not None
    assert look.report.facts.updates == 2
    assert not look.report.failures


def test_a_model_can_be_traced_and_scripted_and_keeps_a_flag_of_its_own() -> None:
    model = nn.Sequential(nn.Linear(3, 1))
    with xray():
        traced = torch.jit.trace(model, torch.ones(2, 3))
        scripted = torch.jit.script(model)
        assert not hasattr(model, "requires_grad")
        model.requires_grad = True
        assert copy.deepcopy(model).requires_grad is True
    assert vars(model)["requires_grad"] is True
    assert torch.equal(traced(torch.ones(1, 3)), scripted(torch.ones(1, 3)))


class Answering(torch.Tensor):
    """A tensor class that answers in its own way, as libraries have them."""

    @classmethod
    def __torch_function__(cls, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise TypeError(f"{function} is not for {cls}")


def test_tensor_classes_of_a_script_are_not_asked() -> None:
    kept = torch.zeros(3).as_subclass(Answering)
    with xray() as look:
        pass
    assert look.report is not None
    assert type(kept) is Answering


def test_rule_that_raises_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    first, *others = rules.all_rules()

    def stumble(facts: Facts) -> list[Finding]:
        raise KeyError("a shape nobody has thought of")

    monkeypatch.setattr(rules, "all_rules", lambda: (replace(first, find=stumble), *others))
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with xray(updates=4) as look:
        for _ in range(4):
            model(torch.randn(5, 3)).square().mean().backward()
            optimizer.step()
    assert look.report is not None
    assert [type(one) for one in look.report.failures] == [KeyError]
    assert "missing-zero-grad" in [told.rule.id for told in look.report.told]


ENSEMBLE = (
    HEAD
    + """from torch.func import functional_call, grad, stack_module_state, vmap
members = [nn.Sequential(nn.Linear(6, 8), nn.Tanh(), nn.Linear(8, 2)) for _ in range(3)]
weights, buffers = stack_module_state(members)
weights = {name: one.detach() for name, one in weights.items()}
def loss_of(w, b, a, target):
    return F.cross_entropy(functional_call(members[0], (w, b), (a,)), target)
for _ in range(3):
    found = vmap(grad(loss_of), in_dims=(0, 0, None, None))(weights, buffers, x, y)
    weights = {name: one - 0.1 * found[name] for name, one in weights.items()}
"""
)


def test_tensors_inside_a_transform_are_not_looked_at(script: Any) -> None:
    alone = watched(script(ENSEMBLE))  # which also asks that no observer failed
    assert [one for one, _ in alone.ids] == ["no-update"]
    assert watched(script(ENSEMBLE + LOOP)).ids == []


@pytest.mark.parametrize("method", ["moved", "_look_at_tree", "_look_at_optimizers"])
def test_look_at_the_end_that_fails_costs_only_itself(monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    def stumble(*given: object) -> None:
        raise RuntimeError("a tensor nobody has thought of")

    monkeypatch.setattr(Watch, method, stumble)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with xray(updates=4) as look:
        for _ in range(4):
            model(torch.randn(5, 3)).square().mean().backward()
            optimizer.step()
    assert look.report is not None
    assert {type(one) for one in look.report.failures} == {RuntimeError}
    assert "missing-zero-grad" in [told.rule.id for told in look.report.told]


def test_findings_are_told_where_the_card_cannot_be_drawn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("grader.scripts.card.timeline", lambda facts: 1 / 0)
    model = torch.nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with xray(lang="en") as look:
        for _ in range(4):
            model(torch.randn(5, 3)).square().mean().backward()
            optimizer.step()
    assert look.report is not None
    assert [type(one) for one in look.report.failures] == [ZeroDivisionError]
    assert look.report.told[0].rule.title.en in capsys.readouterr().err


def test_library_draws_no_random_number() -> None:
    states = torch.get_rng_state(), np.random.get_state()[1].copy(), random.getstate()
    with xray():
        torch.ones(3, requires_grad=True).sum().backward()
    assert torch.equal(torch.get_rng_state(), states[0])
    assert (np.random.get_state()[1] == states[1]).all()
    assert random.getstate() == states[2]


def test_recipe_names_what_an_update_was_made_of() -> None:
    """Two micro-batches with weights, then one that carries what was not cleared."""
    model = nn.Sequential(nn.Linear(300, 40), nn.ReLU(), nn.Linear(40, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = torch.randn(3, 8, 300)
    with xray() as look:
        (0.25 * model(batches[0]).square().mean()).backward()
        (0.75 * model(batches[1]).square().mean()).backward()
        optimizer.step()
        model(batches[2]).square().mean().backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1e-3)
        optimizer.step()
    assert look.report is not None
    first, second = look.report.facts.steps()
    assert first.recipe == pytest.approx({0: 1.0, 1: 1.0}, rel=1e-3)
    assert first.carried is None
    assert set(second.recipe) == {0, 1, 2}
    assert len({round(value / second.recipe[2], 3) for value in second.recipe.values()}) == 1
    assert second.carried is not None
    assert second.carried < 1
    assert second.unexplained < 1e-4


def test_memory_of_sketches_does_not_grow_with_the_model() -> None:
    from grader.scripts.sketch import WIDTH, Sketcher

    sketcher = Sketcher()
    sketch = sketcher.sketch([(0, torch.randn(3_000_000)), (1, torch.randn(7))])
    assert sketch is not None
    assert sketch.numel() == WIDTH
    assert len(sketcher._signs) < 0.01 * 3_000_000
    twice = sketcher.sketch([(0, torch.ones(1000) * 2)])
    once = sketcher.sketch([(0, torch.ones(1000))])
    assert twice is not None
    assert once is not None
    assert torch.allclose(twice, 2 * once)


def test_json_has_the_promised_form(script: Any) -> None:
    ran = watched(script(HEAD + LOOP.replace("        optimizer.zero_grad()\n", "")))
    assert ran.found["schema"] == "hanstep.xray/1"
    (finding,) = ran.found["findings"]
    assert {"id", "title", "severity", "file", "line", "sentence", "evidence"} <= finding.keys()
    assert finding["id"] == "missing-zero-grad"
    assert finding["line"] == 16
    assert ran.status == 1


@pytest.mark.parametrize(
    ("text", "status", "id_"),
    [
        (HEAD + LOOP, 0, None),
        (HEAD + "raise ValueError('no data')\n", 2, None),
        (HEAD + "import sys; sys.exit(3)\n", 2, "no-update"),
        (HEAD + "with torch.no_grad():\n    loss = model(x).sum()\nloss.backward()\n", 1, "crash-no-grad"),
        (HEAD + "loss = model(x).sum()\nloss.backward()\nloss.backward()\n", 1, "crash-second-backward"),
        (HEAD + "model(x.double()).sum().backward()\n", 1, "crash-dtype"),
    ],
)
def test_exit_status(script: Any, text: str, status: int, id_: str | None) -> None:
    path = script(text)
    ran = watched(path)
    assert ran.status == status
    assert [one for one, _ in ran.ids] == ([id_] if id_ else [])
    if status == 1:
        assert ran.ids[0][1] == len(text.splitlines())
    if "ValueError" in text:
        assert "raise ValueError('no data')" in ran.error
        assert "grader/scripts" not in ran.error


def test_script_gets_its_arguments_and_can_be_stopped(script: Any) -> None:
    text = HEAD + "import sys\nprint(sys.argv[1:], __name__, __file__)\n" + LOOP + "print('end')\n"
    path = script(text)
    ran = watched(path, "--updates", "5", "--stop", arguments=["--lr", "0.1"])
    assert f"['--lr', '0.1'] __main__ {path}" in ran.output
    assert "end" not in ran.output
    assert ran.found["updates"] == 5


@pytest.mark.parametrize("name", sorted({f"{one.id}" for one in all_rules()}))
def test_rule_says_everything_in_both_languages(name: str) -> None:
    rule = next(one for one in all_rules() if one.id == name)
    assert rule.title.ko != rule.title.en
    assert rule.lesson is None or (ROOT / "lessons" / f"{rule.lesson}.ipynb").is_file()


def test_light_install_imports_neither_course_nor_command_line() -> None:
    code = (
        "import sys, grader.scripts.run, grader.scripts.with_block, grader.scripts.command; "
        "print([m for m in sys.modules if m.startswith('grader.') and not m.startswith('grader.scripts')], "
        "[m for m in ('typer', 'jinja2', 'nbformat', 'IPython', 'sklearn', 'matplotlib') if m in sys.modules])"
    )
    said = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    beside = ["grader.base", "grader.base.package", "grader.observe", "grader.observe.wording"]
    assert said.stdout.strip() == f"{beside} []"


def test_course_of_losses() -> None:
    flat, falling = course_of([1.0, 1.1] * 8), course_of([2.0 - 0.1 * n for n in range(16)])
    assert flat is not None
    assert falling is not None
    assert (flat.fell, falling.fell) == (False, True)
    assert course_of([1.0] * 11) is None
    assert course_of([float("nan")] * 20) is None


def test_losses_of_an_update_are_averaged_and_those_of_a_probe_left_out() -> None:
    torch.manual_seed(0)
    model, probe, x = nn.Linear(3, 3), nn.Linear(3, 1), torch.randn(8, 3)
    optimizers = [torch.optim.SGD(one.parameters(), lr=0.1) for one in (model, probe)]
    losses = []
    with xray() as look:
        for _ in range(6):
            parts = [nn.functional.mse_loss(model(half), half) for half in x.split(4)]
            sum(parts).div(2).backward()  # type: ignore[union-attr]
            losses.append(sum(map(float, parts)) / 2)
            optimizers[0].step()
            optimizers[0].zero_grad()
        for _ in range(3):
            nn.functional.mse_loss(probe(model(x).detach()), 9 * x[:, :1]).backward()
            optimizers[1].step()
            optimizers[1].zero_grad()
    assert look.report is not None
    assert losses_of_updates(look.report) == pytest.approx(losses)


NOTHING_TO_LEARN = LOOP.replace("yb)", "torch.randint(0, 2, yb.shape))")


@pytest.mark.parametrize(
    ("loop", "said"), [(NOTHING_TO_LEARN, True), (LOOP.replace("range(3)", "range(30)"), False)]
)
def test_card_says_that_the_loss_did_not_fall(script: Any, loop: str, said: bool) -> None:
    """Random labels leave nothing to learn: no line is wrong, and the card says what it cannot know."""
    ran = watched(script(HEAD + loop), "--updates", "60") if not said else watched(script(HEAD + loop))
    assert ran.ids == []
    assert ("The loss did not fall" in ran.error) == said
    assert "g₇: the gradient of the 7th" in ran.error


def test_card_of_a_part_says_so_and_is_repeated_at_the_end(script: Any) -> None:
    bad = script(HEAD + LOOP.replace("        optimizer.zero_grad()\n", ""))
    ran = watched(bad, "--updates", "5", "--html", str(bad.with_suffix(".html")))
    assert "`--updates 50`" in ran.error
    assert ran.error.count("train.py:16") == 2
    assert f"{bad.with_suffix('.html')} written" in ran.error
    whole = watched(bad)
    assert "Later updates" not in whole.error
    assert whole.error.count("train.py:16") == 1


def test_mistyped_option_is_said(script: Any) -> None:
    ran = watched(script(HEAD + LOOP), arguments=["--htm", "--steps"])
    assert "`--html`" in ran.error
    assert "--steps:" not in ran.error
