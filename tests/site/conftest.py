"""The site that these tests look at, built once a process: Sphinx needs some seconds."""

from pathlib import Path

import pytest

from tests.site.built import ADDRESSES, SHOWN, the_course


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("myst_nb", reason="선택 설치 site가 없어요: pip install -e '.[site]'")
    from grader.site.build_site import build_site

    out = tmp_path_factory.mktemp("site") / "site"
    build_site(the_course(), out, addresses=ADDRESSES, shown=SHOWN, report=lambda line: None)
    return out
