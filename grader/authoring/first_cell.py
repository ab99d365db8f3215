"""The cell that `build` puts before a lesson's first code: it installs the package, or says how.

It is needed in a notebook that was opened by itself. It is kept as text because it must work when this package is
missing.
"""

from grader.base.installing import archive, release

ID = "install"

_INSTALL = """\
    print("강의 패키지(hanstep)를 설치합니다. 1분쯤 걸립니다.")
    for place in places:
        command = [*"-m pip install --quiet --disable-pip-version-check".split(), f"hanstep @ {place}"]
        installed = subprocess.run([sys.executable, *command], capture_output=True, text=True)
        if installed.returncode == 0:
            break
    else:
        raise NotInstalled(
            "설치하지 못했습니다. 인터넷 연결을 확인하고(Kaggle에서는 설정에서 Internet을 켭니다) 다시 실행하세요. "
            + installed.stderr.strip().rpartition("\\n")[2]
        ) from None
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        del sys.modules[name]  # 이름만 같은 다른 패키지입니다
    importlib.invalidate_caches()
    try:
        import grader.learning
    except ImportError:
        raise NotInstalled(f"이 강의의 패키지가 아닙니다: {place}. 노트북을 받은 곳에 알려 주세요.") from None
"""
"""Tries each place in turn, and refuses a package that is not the course."""

_CELL = """\
# 강의 패키지: 있으면 아무것도 하지 않고, Colab과 Kaggle에서는 설치합니다
try:
    import grader.learning  # 이름만 같은 다른 패키지에는 이 모듈이 없습니다
except ImportError:
    import importlib
    import os
    import subprocess
    import sys

    class NotInstalled(ImportError):
        def _render_traceback_(self):  # 노트북이 오류를 한 줄로 보여 줍니다
            return [str(self)]

    @WHERE@
    if "google.colab" not in sys.modules and "KAGGLE_KERNEL_RUN_TYPE" not in os.environ:
        raise NotInstalled(
            f"강의 패키지가 없습니다. 새 셀에서 `%pip install {places[-1]}`을 실행하고, 이 셀부터 다시 실행하세요."
        ) from None
"""

_NOWHERE = """\
# 강의 패키지: 있으면 아무것도 하지 않습니다
try:
    import grader.learning  # 이름만 같은 다른 패키지에는 이 모듈이 없습니다
except ImportError:

    class NotInstalled(ImportError):
        def _render_traceback_(self):  # 노트북이 오류를 한 줄로 보여 줍니다
            return [str(self)]

    raise NotInstalled(
        "강의 패키지가 없습니다. 이 노트북을 받은 곳에서 강의 저장소의 주소나 wheel 파일을 받아, 새 셀에서 "
        "`%pip install 주소나-파일`을 실행하고, 이 셀부터 다시 실행하세요."
    ) from None
"""


def source(repository: str) -> str:
    """Return the cell of notebooks whose course lives at `repository`; empty while nobody has said where.

    It is a single statement that runs code, so nothing of it is taken when a handed-in notebook is read.
    """
    if not repository:
        return _NOWHERE
    places = f'places = (\n        "{release(repository)}",\n        "{archive(repository)}",\n    )  # 없으면 다음 것'
    return _CELL.replace("@WHERE@", places) + _INSTALL
