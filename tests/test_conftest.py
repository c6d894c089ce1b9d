"""The golden comparison itself: each kind of difference is seen, and an update leaves exactly what was given."""

import os
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.schema


@pytest.fixture
def make(golden: Any, tmp_path: Path) -> Any:
    def build(*, update: bool = False) -> Any:
        return type(golden)(tmp_path, update=update)

    return build


def test_equal_files_pass(make: Any) -> None:
    make(update=True)("one", {"a.txt": "x\n", "sub/b.txt": "y\n"})
    make()("one", {"a.txt": "x\n", "sub/b.txt": "y\n"})


@pytest.mark.parametrize(
    ("now", "message"),
    [
        ({"a.txt": "x\nz\n", "b.txt": "y\n"}, "+z"),
        ({"a.txt": "x", "b.txt": "y\n"}, "one/a.txt: line ends differ"),
        ({"a.txt": "x\n"}, "one/b.txt: golden file that nothing produces any more"),
        ({"a.txt": "x\n", "b.txt": "y\n", "c.txt": ""}, "one/c.txt: no golden file for it"),
    ],
)
def test_every_difference_fails(make: Any, now: dict[str, str], message: str) -> None:
    make(update=True)("one", {"a.txt": "x\n", "b.txt": "y\n"})
    with pytest.raises(pytest.fail.Exception) as failure:
        make()("one", now)
    assert message in str(failure.value).splitlines()


def test_update_removes_what_is_no_longer_produced(make: Any, tmp_path: Path) -> None:
    make(update=True)("one", {"a.txt": "x\n", "b.txt": "y\n"})
    make(update=True)("one", {"a.txt": "z\n"})
    assert {p.name: p.read_text() for p in (tmp_path / "one").iterdir()} == {"a.txt": "z\n"}


def test_jsii_runs_on_the_node_of_the_wheel() -> None:
    assert Path(os.environ["JSII_NODE"]).is_file()
