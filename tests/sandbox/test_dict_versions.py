"""Which dicts were written to is told without a look at what is in them, and no write is missed."""

import types

import pytest

from grader.sandbox.inside import dict_versions
from grader.sandbox.inside.dict_versions import DictVersions


def _tracked(*owners: object) -> DictVersions:
    versions = DictVersions()
    for owner in owners:
        versions.track(vars(owner))
    return versions


def _looked_at(versions: DictVersions) -> list[int]:
    """What was written to; it is accepted then."""
    written = versions.written()
    for position, version in written:
        versions.accept(position, version)
    return [position for position, _ in written]


class _Kept:
    attribute = 1


@pytest.mark.parametrize("tells", [True, False])
def test_a_write_to_a_module_or_a_class_is_noticed_once(monkeypatch: pytest.MonkeyPatch, tells: bool) -> None:
    if tells and not dict_versions._python_has_version_tags():
        pytest.skip("this Python does not number the writes to a dict")
    monkeypatch.setattr(dict_versions, "_python_has_version_tags", lambda: tells)
    module, untouched = types.ModuleType("kept"), types.ModuleType("untouched")  # both live until the end
    versions = _tracked(module, _Kept, untouched)
    if tells:
        assert _looked_at(versions) == []
    module.attribute = 2  # type: ignore[attr-defined]
    assert 0 in _looked_at(versions)
    _Kept.attribute = 3
    assert 1 in _looked_at(versions)
    del module.attribute  # type: ignore[attr-defined]
    assert 0 in _looked_at(versions)
    vars(module)["hidden"] = 4
    exec("global_name = 5", vars(module))
    assert 0 in _looked_at(versions)
    assert _looked_at(versions) == ([] if tells else [0, 1, 2])


def test_a_function_that_sets_a_global_is_noticed_when_it_is_called_often() -> None:
    """Python specialises such code after a few calls; the shorter way numbers its writes as well."""
    module = types.ModuleType("counting")
    exec("count = 0\ndef step():\n    global count\n    count = count + 1\n", vars(module))
    versions = _tracked(module)
    for _ in range(100):
        module.step()
        assert _looked_at(versions) == [0]


def test_a_class_attribute_set_in_a_hot_loop_is_noticed() -> None:
    versions = _tracked(_Kept)
    for number in range(100):
        _Kept.attribute = number + 1000
        assert _looked_at(versions) == [0]


def test_what_nobody_accepted_is_told_again() -> None:
    versions = _tracked(_Kept)
    _Kept.attribute = 2000
    assert versions.written() == versions.written()
    assert [position for position, _ in versions.written()] == [0]


def test_what_is_written_between_looking_and_accepting_is_told() -> None:
    versions = _tracked(_Kept)
    _Kept.attribute = 3000
    ((position, version),) = versions.written()
    _Kept.attribute = 3001
    versions.accept(position, version)
    assert [position for position, _ in versions.written()] == [0]
