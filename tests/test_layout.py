"""The rules of the house that a machine can check: who may import what, and which files may exist.

Standard library only, so that it says plainly what is wrong when nothing else can be imported. Every checker is a
function from source text to complaints, and is itself shown to fail on small made-up sources.
"""

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parent.parent
LONGEST_FILE = 400
PROOFS = frozenset({"schema", "arithmetic", "template", "real_component", "control_plane"})
CLOCK = ("datetime.now", "datetime.utcnow", "datetime.today", "date.today", "time.time", "time.time_ns")
ENVIRONMENT = ("os.environ", "os.getenv")
NETWORK = ("ftplib", "http", "smtplib", "socket", "socketserver", "ssl", "urllib.request", "xmlrpc")
# In two halves, so that this file does not name them. Container registries are not meant: charts need those.
HOSTS = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"),
        ("pythonhosted", "org"),
        ("npmjs", "org"),
        ("npmjs", "com"),
        ("yarnpkg", "com"),
        ("crates", "io"),
        ("debian", "org"),
        ("golang", "org"),
        ("maven", "org"),
    )
]


@dataclass(frozen=True)
class Room:
    """One row of the table in ARCHITECTURE.md: which files, and what they may import besides the standard library."""

    name: str
    files: str
    may: tuple[str, ...]
    never: tuple[str, ...] = ()
    uses_never: tuple[str, ...] = ()


PLAN = ("eks_training.plan*", "eks_training.naming")
# The first row that matches a path counts. `NAME` stands for the component's own folder, a final `*` for any ending.
ROOMS = (
    Room("the command line", r"eks_training/(cli|__main__)\.py|eks_training/cli/.*", ("*",)),
    # Its one job is to set the variable that chooses the Node of jsii.
    Room("the toolchain", r"eks_training/toolchain\.py", (), NETWORK, CLOCK),
    Room(
        "eks_training",
        r"eks_training/.*",
        ("pydantic", "pydantic_core", "yaml", "eks_training"),
        NETWORK,
        CLOCK + ENVIRONMENT,
    ),
    Room("constructs", r"constructs/.*", ("aws_cdk", "constructs", *PLAN), NETWORK, CLOCK + ENVIRONMENT),
    Room(
        "stacks", r"stacks/.*", ("aws_cdk", "constructs", "stacks", "k8s.SHARED", *PLAN), NETWORK, CLOCK + ENVIRONMENT
    ),
    Room(
        "k8s, the stand-alone delivery",
        r"k8s/(render(ing)?|applying)\.py",
        (
            "cdk8s",
            "constructs.Construct",
            "yaml",
            "eks_training.contracts.model",
            "eks_training.files",
            "eks_training.finding",
            "k8s.OTHER",
            "k8s.SHARED",
            *PLAN,
        ),
        NETWORK,
        CLOCK + ENVIRONMENT,
    ),
    Room(
        "k8s, the checked half",
        r"k8s/(.*/)?(options|rules|catalogue|__init__)\.py",
        ("pydantic", "pydantic_core", "yaml", "eks_training", "k8s.NAME", "k8s.SHARED"),
        NETWORK,
        CLOCK + ENVIRONMENT,
    ),
    Room(
        "k8s, the drawn half",
        r"k8s/.*",
        ("cdk8s", "cdk8s_plus_28", "constructs.Construct", "constructs.IConstruct", "k8s.NAME", "k8s.SHARED", *PLAN),
        NETWORK,
        CLOCK + ENVIRONMENT,
    ),
    Room("live", r"live/.*", ("boto3", "botocore", "eks_training", "live")),
    Room("training", r"training/.*", ("torch", "boto3", "botocore", "training")),
)


def tracked() -> list[Path]:
    """Every file that git keeps or would keep, relative to the root; without git, every file but known litter."""
    listing = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    found = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode == 0:
        paths = [Path(name) for name in found.stdout.split("\0") if name]
    else:
        litter = {".git", ".venv", "node_modules", "cdk.out", "dist", "__pycache__"}
        paths = [path.relative_to(ROOT) for path in ROOT.rglob("*")]
        paths = [path for path in paths if not litter.intersection(path.parts)]
    return sorted(path for path in paths if (ROOT / path).is_file())


def python_files(under: str = "") -> Iterator[tuple[str, str]]:
    for path in tracked():
        if path.suffix == ".py" and path.as_posix().startswith(under):
            yield path.as_posix(), (ROOT / path).read_text(encoding="utf-8")


def imports(path: str, source: str) -> Iterator[tuple[int, str]]:
    """Each import as (line, absolute dotted name of the thing imported), literal dynamic imports included."""
    package = Path(path).parent.parts
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            prefix = ".".join([*base, *([node.module] if node.module else [])])
            yield from ((node.lineno, f"{prefix}.{alias.name}" if prefix else alias.name) for alias in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            dynamic = ast.unparse(node.func).endswith(("import_module", "__import__"))
            yield from [(node.lineno, str(node.args[0].value))] if dynamic else []


def matches(name: str, pattern: str) -> bool:
    if pattern.endswith("*"):
        return name.startswith(pattern[:-1])
    return name == pattern or name.startswith(pattern + ".")


def room_complaints(path: str, source: str, components: Iterable[str] = ()) -> list[str]:
    room = next((room for room in ROOMS if re.fullmatch(room.files, path)), None)
    if room is None:
        return []
    folders = set(components)
    own = path.split("/")[1] if path.count("/") > 1 else ""
    complaints = []
    for line, name in imports(path, source):
        top = name.split(".")[0]
        if top == "k8s" and "*" not in room.may:
            part = name.partition(".")[2].split(".")[0]
            kind = "k8s.NAME" if part == own and own in folders else "k8s.OTHER" if part in folders else "k8s.SHARED"
            allowed = kind in room.may
        else:
            allowed = any(matches(name, pattern) for pattern in room.may) or (top in sys.stdlib_module_names)
        if not allowed or any(matches(name, pattern) for pattern in room.never):
            complaints.append(f"{path}:{line}: {room.name} must not import {name}")
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Attribute):
            used = next((use for use in room.uses_never if f".{ast.unparse(node)}".endswith(f".{use}")), None)
            if used:
                complaints.append(f"{path}:{node.lineno}: {room.name} must not use {used}")
    return complaints


def bare_k8s_complaints(path: str, source: str) -> list[str]:
    """No import may bind the name `k8s`: generated modules bear it too (cdk8s_plus_28.k8s, imports.k8s)."""
    complaints = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            for alias in node.names:
                bound = alias.asname or (alias.name.split(".")[0] if isinstance(node, ast.Import) else alias.name)
                if bound == "k8s":
                    complaints.append(f"{path}:{node.lineno}: binds the name k8s; write `from k8s.x import Y`")
    return complaints


def mock_complaints(path: str, source: str) -> list[str]:
    """Patching hides that a dependency is not passed in; hand-written fakes are passed in."""
    found = [
        (line, name) for line, name in imports(path, source) if name.split(".")[0] == "mock" or "unittest.mock" in name
    ]
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.arg) and node.arg == "mocker":
            found.append((node.lineno, "mocker"))
    return [f"{path}:{line}: {name}: pass a hand-written fake in instead" for line, name in found]


def _proofs(nodes: Iterable[ast.AST]) -> set[str]:
    inner = (part for node in nodes for part in ast.walk(node))
    marks = [node for node in inner if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "pytest.mark"]
    return {mark.attr for mark in marks} & PROOFS


def proof_complaints(path: str, source: str) -> list[str]:
    """Every test says what it proves, by a marker on itself, its class or its module."""

    def own(body: list[ast.stmt]) -> set[str]:
        assigned = [s for s in body if isinstance(s, ast.Assign) and ast.unparse(s.targets[0]) == "pytestmark"]
        return _proofs(statement.value for statement in assigned)

    def walk(body: list[ast.stmt], outer: set[str]) -> Iterator[str]:
        proofs = outer | own(body)
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name.startswith("Test"):
                yield from walk(node.body, proofs | _proofs(node.decorator_list))
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
                missing = not proofs | _proofs(node.decorator_list)
                if missing:
                    yield f"{path}:{node.lineno}: {node.name} does not say what it proves ({', '.join(sorted(PROOFS))})"

    return list(walk(ast.parse(source).body, set()))


def length_complaints(path: str, source: str) -> list[str]:
    lines = source.count("\n")
    return [f"{path}: {lines} lines, {LONGEST_FILE} is the limit"] if lines > LONGEST_FILE else []


def host_complaints(path: str, source: str) -> list[str]:
    return [
        f"{path}: names the package registry {host}" for host in HOSTS if re.search(rf"\b{re.escape(host)}\b", source)
    ]


def file_complaints(paths: Iterable[str]) -> list[str]:
    complaints = []
    for path in paths:
        if path == "constructs/__init__.py":
            complaints.append(f"{path}: hides the library of the same name, see constructs/README.md")
        elif path.startswith("tests/") and path.endswith("/__init__.py"):
            complaints.append(f"{path}: the tests are no package; this file can hide the library constructs")
    return complaints


def project_complaints(pyproject: str) -> list[str]:
    tables = tomllib.loads(pyproject)
    return [
        f"pyproject.toml: [{name}] makes this a package, see constructs/README.md"
        for name in ("build-system", "project")
        if name in tables
    ]


def components() -> set[str]:
    return {path.parts[1] for path in tracked() if path.parts[0] == "k8s" and len(path.parts) > 2}


def test_no_file_hides_the_library_constructs() -> None:
    # On disk, not only in git: an ignored file does the same harm.
    present = [
        path.relative_to(ROOT).as_posix()
        for folder in ("constructs", "tests")
        for path in (ROOT / folder).rglob("__init__.py")
    ]
    assert file_complaints(present) == []
    assert project_complaints((ROOT / "pyproject.toml").read_text(encoding="utf-8")) == []


def test_rooms_import_only_what_the_table_allows() -> None:
    folders = components()
    assert [c for path, source in python_files() for c in room_complaints(path, source, folders)] == []


CheckerOfSource = Callable[[str, str], list[str]]


@pytest.mark.parametrize(
    ("check", "under"),
    [
        (bare_k8s_complaints, ""),
        (mock_complaints, "tests/"),
        (proof_complaints, "tests/test_"),
        (length_complaints, ""),
    ],
)
def test_python_files_keep_the_house_rules(check: CheckerOfSource, under: str) -> None:
    assert [complaint for path, source in python_files(under) for complaint in check(path, source)] == []


def test_no_file_names_a_package_registry() -> None:
    texts = ((path.as_posix(), (ROOT / path).read_bytes().decode(errors="ignore")) for path in tracked())
    assert [complaint for path, text in texts for complaint in host_complaints(path, text)] == []


@pytest.mark.parametrize(
    ("path", "source", "complains"),
    [
        ("eks_training/a.py", "import aws_cdk", True),
        ("eks_training/a.py", "def f():\n    import boto3", True),
        ("eks_training/rules/a.py", "from ..spec import Spec\nimport yaml, json", False),
        ("eks_training/rules/a.py", "from ...live import x", True),
        ("eks_training/a.py", "import importlib\nimportlib.import_module('cdk8s')", True),
        ("eks_training/a.py", "import urllib.request", True),
        ("eks_training/a.py", "from urllib.parse import urlsplit", False),
        ("eks_training/a.py", "import datetime\ndatetime.datetime.now()", True),
        ("eks_training/cli.py", "import os, boto3\nos.environ", False),
        ("eks_training/cli_extra.py", "import boto3", True),
        ("constructs/a.py", "from constructs import Construct\nfrom aws_cdk import aws_eks\nimport re", False),
        ("constructs/a.py", "from eks_training.plan import Plan\nfrom eks_training.naming import x", False),
        ("constructs/a.py", "from eks_training.spec import Spec", True),
        ("constructs/a.py", "from eks_training import spec", True),
        ("constructs/a.py", "import cdk8s", True),
        ("constructs/a.py", "import os\nx = os.environ['A']", True),
        ("stacks/a.py", "from k8s.catalogue import load\nfrom constructs.b import B", False),
        ("stacks/a.py", "from k8s.kueue.chart import Kueue", True),
        ("k8s/kueue/options.py", "from eks_training.spec.base import Model\nfrom .rules import x", False),
        ("k8s/kueue/rules.py", "import cdk8s", True),
        ("k8s/kueue/chart.py", "import cdk8s\nfrom k8s.kueue.options import Options", False),
        ("k8s/kueue/chart.py", "from eks_training.spec import Spec", True),
        ("k8s/kueue/chart.py", "from k8s.volcano.chart import Volcano", True),
        ("k8s/kueue/chart.py", "import aws_cdk", True),
        ("live/a.py", "import boto3\nfrom eks_training.plan import Plan", False),
        ("live/a.py", "import aws_cdk", True),
        ("training/a.py", "import torch.distributed\nfrom training.checkpoint import x", False),
        ("training/a.py", "import eks_training", True),
    ],
)  # fmt: skip
def test_room_checker_sees(path: str, source: str, complains: bool) -> None:
    assert bool(room_complaints(path, source, {"kueue", "volcano"})) is complains


@pytest.mark.parametrize(
    ("check", "source", "complains"),
    [
        (bare_k8s_complaints, "import k8s", True),
        (bare_k8s_complaints, "import k8s.kueue.chart", True),
        (bare_k8s_complaints, "from cdk8s_plus_28 import k8s", True),
        (bare_k8s_complaints, "import x as k8s", True),
        (bare_k8s_complaints, "from k8s.kueue.chart import Kueue", False),
        (mock_complaints, "from unittest.mock import patch", True),
        (mock_complaints, "from unittest import mock", True),
        (mock_complaints, "def test_a(mocker): ...", True),
        (mock_complaints, "import unittest", False),
        (proof_complaints, "def test_a(): ...", True),
        (proof_complaints, "import pytest\npytestmark = pytest.mark.slow\ndef test_a(): ...", True),
        (proof_complaints, "import pytest\n@pytest.mark.schema\ndef test_a(): ...\ndef test_b(): ...", True),
        (
            proof_complaints,
            "import pytest\npytestmark = [pytest.mark.slow, pytest.mark.template]\ndef test_a(): ...",
            False,
        ),
        (proof_complaints, "import pytest\n@pytest.mark.arithmetic\nclass TestA:\n    def test_a(self): ...", False),
        (proof_complaints, "class TestA:\n    def test_a(self): ...", True),
        (length_complaints, "x\n" * 401, True),
        (length_complaints, "x\n" * 400, False),
        (host_complaints, "see https://files." + HOSTS[1] + "/x", True),
        (host_complaints, "public.ecr.aws/eks registry.k8s.io", False),
    ],
)
def test_checker_sees(check: CheckerOfSource, source: str, complains: bool) -> None:
    assert bool(check("tests/test_made_up.py", source)) is complains


@pytest.mark.parametrize("path", ["constructs/__init__.py", "tests/__init__.py", "tests/constructs/__init__.py"])
def test_file_checker_sees(path: str) -> None:
    assert len(file_complaints(["eks_training/__init__.py", path])) == 1
    assert "constructs" in file_complaints([path])[0]


def test_project_checker_sees() -> None:
    assert project_complaints("[build-system]\nrequires = []\n[project]\nname = 'x'") != []
    assert project_complaints("[tool.ruff]\nline-length = 120") == []
