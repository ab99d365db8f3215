"""The cell that `build` puts before a lesson's first code: it installs the package, or says how.

It is needed in a notebook that was opened by itself. It is kept as text because it must work when this package is
missing.
"""

ID = "install"

SOURCE = """\
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

    if "google.colab" not in sys.modules and "KAGGLE_KERNEL_RUN_TYPE" not in os.environ:
        raise NotInstalled(
            "강의 패키지가 없습니다. 새 셀에서 `%pip install hanstep`을 실행하고, 이 셀부터 다시 실행하세요."
        ) from None
    print("강의 패키지(hanstep)를 설치합니다. 1분쯤 걸립니다.")
    command = "-m pip install --quiet --disable-pip-version-check hanstep"
    installed = subprocess.run([sys.executable, *command.split()], capture_output=True, text=True)
    if installed.returncode != 0:
        raise NotInstalled(
            "설치하지 못했습니다. 인터넷 연결을 확인하고(Kaggle에서는 설정에서 Internet을 켭니다) 다시 실행하세요. "
            + installed.stderr.strip().rpartition("\\n")[2]
        ) from None
    for name in [name for name in sys.modules if name.partition(".")[0] == "grader"]:
        del sys.modules[name]  # 이름만 같은 다른 패키지입니다
    importlib.invalidate_caches()
"""
"""The cell is a single statement that runs code, so nothing of it is taken when a handed-in notebook is read."""
