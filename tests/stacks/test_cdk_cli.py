"""The pinned CDK CLI itself runs the app: no credentials, no lookup, one run, no warning, the designed exit codes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eks_training.toolchain import bundled_node
from tests.conftest import IN_CI
from tests.synthesis import ROOT

pytestmark = pytest.mark.real_component

CLI = ROOT / "node_modules" / "aws-cdk" / "bin" / "cdk"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with the project in it, as a user has it, and nothing of the present output."""
    if not CLI.is_file():
        message = "the CDK CLI is not installed; `make setup` does it"
        if IN_CI:
            pytest.fail(message)
        pytest.skip(message)
    for name in ("app.py", "cdk.json", "cluster.yaml", "eks_training", "stacks", "constructs", "examples"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, tmp_path / name)
    return tmp_path


def without_credentials() -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("AWS_", "CDK_"))}
    return {**kept, "AWS_EC2_METADATA_DISABLED": "true", "HOME": "/nonexistent", "PYTHONDONTWRITEBYTECODE": "1"}


def synth(project: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """``cdk synth`` with an app command that counts its runs."""
    app = f"echo run >> runs.txt; {sys.executable} app.py"
    node = bundled_node()
    assert node is not None
    return subprocess.run(
        [str(node), str(CLI), "synth", "--quiet", "--app", app, *arguments],
        cwd=project, env=without_credentials(), capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def written(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.suffix == ".json" and path.name != "validation-report.json"
    }


def test_synth_without_credentials_runs_the_app_once_and_warns_of_nothing(project: Path) -> None:
    done = synth(project)
    assert done.returncode == 0, done.stderr
    assert (project / "runs.txt").read_text() == "run\n"
    assert "warning" not in (done.stdout + done.stderr).lower()
    assert "feature flags are not configured" not in done.stdout + done.stderr
    assert (project / "cdk.out" / "manifest.json").is_file()
    assert "p5.48xlarge" in (project / "cdk.out" / "summary.txt").read_text()

    by_cli = written(project / "cdk.out")
    shutil.rmtree(project / "cdk.out")
    plain = subprocess.run(
        [sys.executable, "app.py"], cwd=project, env=without_credentials(), capture_output=True, text=True, check=False
    )
    assert plain.returncode == 0, plain.stderr
    by_hand = written(project / "cdk.out")
    assert by_hand.keys() == by_cli.keys()
    templates = [name for name in by_cli if name.endswith(".template.json")] + ["plan.json"]
    assert len(templates) > 5
    for name in templates:
        assert by_hand[name] == by_cli[name], name


def test_another_config_is_chosen_by_context(project: Path) -> None:
    done = synth(project, "-c", "config=examples/development.yaml")
    assert done.returncode == 0, done.stderr
    assert (project / "cdk.out" / "dev-network.template.json").is_file()


def test_a_faulty_config_ends_with_one_and_names_the_place(project: Path) -> None:
    text = (project / "cluster.yaml").read_text()
    (project / "cluster.yaml").write_text(text.replace("placement: none", "placement: cluster", 1))
    line = next(number for number, row in enumerate(text.splitlines(), 1) if "placement: none" in row)
    done = synth(project)
    assert done.returncode == 1
    assert f"cluster.yaml:{line}:16: error PLC002" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (project / "cdk.out" / "manifest.json").exists()


def test_a_missing_config_is_said_plainly(project: Path) -> None:
    done = synth(project, "-c", "config=nowhere.yaml")
    assert done.returncode == 1
    assert "nowhere.yaml: cannot be opened" in done.stderr
    assert "Traceback" not in done.stderr
