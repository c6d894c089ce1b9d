"""What all tests share: the Node for jsii, golden files, third-party material, and the settings of hypothesis.

Golden files: a test takes the fixture `golden` and calls `golden("small-cluster", {"plan.json": text, ...})`. Folder
`tests/golden/small-cluster/` must then hold exactly these files with exactly these texts. `pytest --update-golden` runs
only the tests that use the fixture and rewrites their folders, and refuses where `CI` is set. After a full run, folders
that no test asked for are an error.

`pytest --pure` does not even import test modules that need Node, so the quick tests start at once.
"""

import difflib
import functools
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from eks_training.toolchain import use_bundled_node

ROOT = Path(__file__).resolve().parent.parent
GOLDEN = ROOT / "tests" / "golden"
IN_CI = os.environ.get("CI", "").lower() not in ("", "0", "false")
NEEDS_NODE = re.compile(
    r"^(?:from|import)\s+"
    r"(?:aws_cdk|cdk8s\w*|cdk_nag|constructs|jsii|stacks|app|k8s[\w.]*\.chart|k8s\.render|tests\.synthesis)\b",
    re.MULTILINE,
)


use_bundled_node()  # before any test module imports aws_cdk or cdk8s

settings.register_profile("dev", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True, database=None)
settings.register_profile("thorough", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "dev"))


class Golden:
    """Compares texts with the files of one folder; the folder belongs to the caller as a whole."""

    def __init__(self, root: Path, *, update: bool) -> None:
        self.root = root
        self.update = update
        self.asked_for: set[str] = set()

    def __call__(self, name: str, files: Mapping[str, str]) -> None:
        self.asked_for.add(name)
        folder = self.root / name
        kept = {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}
        if self.update:
            for extra in kept.keys() - files.keys():
                kept[extra].unlink()
            for relative, text in files.items():
                target = folder / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(text.encode())
            return
        problems: list[str] = []
        for relative in sorted(files.keys() | kept.keys()):
            shown = f"{name}/{relative}"
            if relative not in kept:
                problems.append(f"{shown}: no golden file for it")
            elif relative not in files:
                problems.append(f"{shown}: golden file that nothing produces any more")
            else:
                before = kept[relative].read_bytes().decode()
                diff = difflib.unified_diff(
                    before.splitlines(),
                    files[relative].splitlines(),
                    f"golden/{shown}",
                    f"now/{shown}",
                    lineterm="",
                    n=2,
                )
                lines = list(diff)
                if not lines and before != files[relative]:
                    lines = [f"{shown}: line ends differ"]
                if len(lines) > 80:
                    lines = [*lines[:80], f"... {len(lines) - 80} more lines"]
                problems.extend(lines)
        if problems:
            pytest.fail(
                "\n".join([*problems, "", "If the change is meant: make golden, and review the diff."]), pytrace=False
            )


class _Bookkeeping:
    """Adds up, over all worker processes, which golden folders were asked for."""

    def __init__(self, config: pytest.Config) -> None:
        self.golden = Golden(GOLDEN, update=bool(config.getoption("--update-golden")))
        self.selected = False
        self.orphans: list[str] = []

    def pytest_deselected(self) -> None:
        self.selected = True

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        output: dict[str, object] = getattr(node, "workeroutput", {})
        asked = output.get("golden_asked_for")
        self.golden.asked_for.update(asked if isinstance(asked, list) else [])
        self.selected = self.selected or bool(output.get("golden_selected"))

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        config = session.config
        output: dict[str, object] | None = getattr(config, "workeroutput", None)
        if output is not None:
            output["golden_asked_for"] = sorted(self.golden.asked_for)
            output["golden_selected"] = self.selected
            return
        whole = config.args_source is pytest.Config.ArgsSource.TESTPATHS and not self.selected
        if whole and session.exitstatus == pytest.ExitCode.OK and not config.getoption("--pure") and GOLDEN.is_dir():
            asked = self.golden.asked_for
            self.orphans = sorted(p.name for p in GOLDEN.iterdir() if p.is_dir() and p.name not in asked)
            if self.orphans:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for name in self.orphans:
            terminalreporter.write_line(
                f"ERROR tests/golden/{name}: no test asked for this folder; delete it", red=True
            )


_BOOKKEEPING = pytest.StashKey[_Bookkeeping]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("eks-training")
    group.addoption("--update-golden", action="store_true", help="rewrite tests/golden/ (refused where CI is set)")
    group.addoption("--pure", action="store_true", help="leave out test modules that need Node")


def pytest_configure(config: pytest.Config) -> None:
    if config.getoption("--update-golden") and IN_CI:
        raise pytest.UsageError("golden files are never rewritten in CI: run `make golden`, review and commit the diff")
    config.stash[_BOOKKEEPING] = bookkeeping = _Bookkeeping(config)
    config.pluginmanager.register(bookkeeping, "golden-bookkeeping")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    if config.getoption("--pure") and collection_path.suffix == ".py" and collection_path.name.startswith("test_"):
        return bool(NEEDS_NODE.search(collection_path.read_text(encoding="utf-8"))) or None
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--update-golden"):
        uses = [item for item in items if "golden" in getattr(item, "fixturenames", ())]
        config.hook.pytest_deselected(items=[item for item in items if item not in uses])
        items[:] = uses
    # Module by module, the rules of the house first, then what needs no Node, so that plain faults show at once.
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.path.name == "test_layout.py":
        return 0
    return 2 if NEEDS_NODE.search(_source(item.path)) else 1


@functools.cache
def _source(path: Path) -> str:
    return path.read_text(encoding="utf-8")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    """Compares with `tests/golden/`; see the top of this file."""
    return request.config.stash[_BOOKKEEPING].golden


@pytest.fixture(scope="session")
def upstream() -> Iterator[Path]:
    """The folder of third-party charts and definitions as their makers ship them, not part of this repository.

    EKS_TRAINING_UPSTREAM names it; otherwise it is looked for beside this repository.
    """
    named = os.environ.get("EKS_TRAINING_UPSTREAM")
    folder = Path(named) if named else ROOT.parent / "shared" / "upstream"
    if not folder.is_dir():
        pytest.skip("no third-party material: set EKS_TRAINING_UPSTREAM to its folder")
    yield folder


@pytest.fixture(scope="session")
def root() -> Path:
    """The folder of the repository."""
    return ROOT
