"""The pages made from the code are current, and the documentation names only what exists."""

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from eks_training.configuration_rules import BUILT_IN
from eks_training.rulebook import all_rules

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parent.parent
PAGES = ["README.md", "ARCHITECTURE.md", *(f"docs/{name}" for name in ("cluster.md", "rules.md", "proof.md"))]


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules["generate"] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("name", ["cluster.md", "rules.md", "proof.md"])
def test_page_is_current(generate: ModuleType, name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == generate.PAGES[name](), "run `make docs`"


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_somewhere(page: str) -> None:
    text = (ROOT / page).read_text()
    for target in re.findall(r"\]\((?!https?://)([^)#]+)", text):
        assert ((ROOT / page).parent / target).exists(), target


def test_rules_that_the_readme_names_exist() -> None:
    known = {rule.id for rule in all_rules()} | BUILT_IN.keys()
    named = set(re.findall(r"\b[A-Z]{3}[0-9]{3}\b", (ROOT / "README.md").read_text()))
    assert named and named <= known


def test_answers_to_reported_faults_exist() -> None:
    text = (ROOT / "docs" / "faults.md").read_text()
    known = {rule.id for rule in all_rules()} | BUILT_IN.keys()
    assert set(re.findall(r"\b[A-Z]{2,4}[0-9]{3}\b", text)) <= known
    tests = "".join(path.read_text() for path in (ROOT / "tests").rglob("test_*.py"))
    for name in re.findall(r"`(test_\w+)`", text):
        assert f"def {name}(" in tests, name
    rows = [line for line in text.splitlines() if line.startswith("|")][2:]
    assert all(line.count("|") == 4 and "#" in line for line in rows)


def test_files_that_the_architecture_names_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    for name in re.findall(r"^ {4}(?: {2})?([\w./-]+\.(?:py|json|yaml)|[\w-]+/)\s", text, re.MULTILINE):
        assert any(list(room.glob(name)) for room in (ROOT, ROOT / "eks_training", ROOT / "k8s")), name


def test_every_decision_is_numbered_once() -> None:
    numbers = [path.name[:4] for path in sorted((ROOT / "docs" / "decisions").glob("*.md"))]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_make_targets_that_the_readme_names_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*## ", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = set(re.findall(r"[`\n]make ([a-z]+)\b", (ROOT / "README.md").read_text()))
    assert named <= targets
