"""List the column titles of instructors' tables: one table for rosters, groups, worksheets, gradebooks and marks.

Where a system wrote the table, the titles are its own words, in English and Korean:

- Moodle: language packs en and ko, `assign` (recordid, lastmodifiedsubmission, maxgrade, submissionteam …), `moodle`
  (fullname, fullnameuser, idnumber, email, grade, group) and `assignfeedback_comments` (pluginname);
- Canvas: `lib/gradebook_exporter.rb` (never translated), and the export of groups, `group_category_csv.md`;
- GitHub Classroom: the roster's `identifier`, `github_username`, `github_id`, `name`.

The others are what Korean university portals and people write.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

HEADINGS: Mapping[str, tuple[str, ...]] = {
    # ---- who
    "id": (
        *(
            "SIS User ID",
            "학번",
            "학생번호",
            "학생 번호",
            "학생 ID",
            "student id",
            "student number",
            "student no",
        ),
        *("id number", "id 번호", "학적번호", "sid", "user_id", "identifier", "ID"),
    ),
    "name": (
        *("name", "이름", "성명", "학생명", "학생 이름", "학생 성명", "한글 이름", "한글 성명"),
        *("student name", "full name", "전체 이름", "사용자 성명", "사용자 전체 이름", "학생", "student"),
    ),
    "last_name": ("last name", "surname", "성"),
    "first_name": ("first name",),
    "system_name": (
        *("시스템 이름", "system name", "lms name", "lms 이름", "영문 이름", "영문명", "영문 성명"),
        *("영어 이름", "english name", "이름(영문)", "성명(영문)", "영문성명"),
    ),
    "section": ("section", "sections", "분반", "반", "수강반", "수강 분반", "분반번호", "강좌 분반", "class"),
    "login": ("SIS Login ID", "login_id", "login", "username", "아이디", "사용자 아이디", "사용자명"),
    "email": (
        *(
            "email",
            "e-mail",
            "이메일",
            "email address",
            "이메일 주소",
            "전자우편",
            "전자 우편",
            "메일",
            "메일 주소",
        ),
    ),
    "github": ("github_username", "github", "github id", "깃허브", "깃허브 아이디"),
    "canvas_id": ("canvas id", "canvas_user_id"),
    "moodle_id": ("moodle id",),
    "record_id": ("identifier", "식별자"),
    "group": (
        *(
            "group_name",
            "조",
            "조 이름",
            "조명",
            "모둠",
            "모둠 이름",
            "모둠명",
            "그룹",
            "그룹 이름",
            "그룹명",
        ),
        *(
            "팀",
            "팀 이름",
            "팀명",
            "group",
            "group name",
            "groups",
            "team",
            "team name",
            "조 번호",
            "모둠 번호",
        ),
    ),
    "members": ("members", "group members", "모둠 구성원", "그룹 구성원", "구성원", "조원", "모둠원", "팀원"),
    # ---- when
    "handed_in": (
        *("handed in", "submitted", "submitted at", "submission time", "제출 시각", "제출 시간", "제출 일시"),
        *("제출일시", "Last modified (submission)", "마지막 수정됨(제출)"),
        *("최종 수정 (제출)", "마지막 수정 (제출)", "timestamp", "타임스탬프"),
    ),
    "handed_in_day": ("제출일", "제출 날짜", "제출일자", "submission date"),
    "until": (
        "until",
        "마감",
        "마감일",
        "마감 시각",
        "마감 일시",
        "기한",
        "연장",
        "연장 기한",
        "deadline",
        "due",
    ),
    # ---- what it is worth
    "exercise": ("연습", "연습 문제", "문제", "exercise", "assignment"),
    "score": ("점수", "score", "mark"),
    "reason": ("까닭", "이유", "사유", "reason", "comment", "비고"),
    "comment": ("코멘트", "글", "comment", "comments"),
    "rule": ("규칙", "rule"),
    "answer": ("본 답",),
    "excused": ("면제", "excused", "exempt"),
    "grade": ("grade", "성적", "점수"),
    "max_grade": ("maximum grade", "최대 성적", "최고 성적", "만점"),
    "can_change": ("grade can be changed", "성적을 변경할 수 있음", "성적 변경 가능"),
    "feedback": ("feedback comments", "피드백 코멘트", "피드백 댓글", "피드백 의견"),
    "notes": ("notes",),
}
"""Titles by field; of a table that has several, the first listed one is meant."""

_IN_BRACKETS = re.compile(r"\([^()]*[^\d()\s][^()]*\)|\[[^\[\]]*\]|\*")
"""Matches what a portal adds to a title: `학번(Student ID)`, `이름*`; not Canvas' number of an assignment."""


_SUBMITTED_WHEN = re.compile(
    "제출.*(?:시각|시간|일시|일자)|(?:submi|handedin|turnedin).*(?:time|date|at$|on$)"
)
_DUE = re.compile("마감|기한|due|deadline|until|남은|remaining")


@lru_cache(maxsize=4096)
def plain_header(title: str) -> str:
    """Return a title as titles are compared: letters and digits only, in lower case. `학 번` and `학번` are one."""
    return "".join(char for char in unicodedata.normalize("NFKC", title).casefold() if char.isalnum())


_PLAIN = {field: tuple(dict.fromkeys(map(plain_header, titles))) for field, titles in HEADINGS.items()}


def find_column(header: Sequence[str], field: str) -> int | None:
    """Return the index of the column that holds a field; None if there is none.

    A title as listed is preferred to one with something in brackets behind it.
    """
    exact = [plain_header(title) for title in header]
    for titles in (exact, [plain_header(_IN_BRACKETS.sub("", title)) for title in header]):
        for wanted in _PLAIN[field]:
            if wanted in titles:
                return titles.index(wanted)
    return None


def time_columns(header: Sequence[str]) -> list[int]:
    """Return the columns whose titles speak of a time of handing in, in words that are not listed."""
    plain = [plain_header(title) for title in header]
    return [at for at, title in enumerate(plain) if _SUBMITTED_WHEN.search(title) and not _DUE.search(title)]


def find_title(header: Sequence[str], title: str) -> int | None:
    """Return the index of the first column with this very title, apart from case, spaces and punctuation."""
    plain = [plain_header(one) for one in header]
    return plain.index(plain_header(title)) if plain_header(title) in plain else None


def find_columns(header: Sequence[str], fields: Collection[str]) -> dict[str, int | None]:
    """Return the index of each field's column."""
    return {field: find_column(header, field) for field in fields}
