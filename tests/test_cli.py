"""The command line as a user meets it: output, files, exit codes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.schema

ROOT = Path(__file__).resolve().parent.parent


def run(*arguments: str, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "eks_training", *arguments],
        cwd=cwd, env=environment, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip


def broken(folder: Path, *, warning: bool = False) -> Path:
    text = (ROOT / "cluster.yaml").read_text()
    text = (
        text.replace("efa: all\n    longest_job", "efa: none\n    longest_job")
        if warning
        else text.replace("nodes: 4", "node: 4")
    )
    path = folder / "broken.yaml"
    path.write_text(text)
    return path


def test_a_valid_file_ends_with_zero() -> None:
    done = run("validate", "cluster.yaml")
    assert (done.returncode, done.stdout, done.stderr) == (0, "cluster.yaml: 0 errors, 0 warnings\n", "")


def test_the_file_defaults_to_cluster_yaml() -> None:
    assert run("validate").stdout == "cluster.yaml: 0 errors, 0 warnings\n"


def test_an_error_ends_with_one_and_names_its_place(tmp_path: Path) -> None:
    path = broken(tmp_path)
    done = run("validate", str(path))
    line = next(number for number, text in enumerate(path.read_text().splitlines(), 1) if "node: 4" in text)
    assert done.returncode == 1
    assert f"{path}:{line}:5: error CFG003: unknown key" in done.stdout
    assert "did you mean `nodes`?" in done.stdout


def test_a_warning_ends_with_zero_unless_strict(tmp_path: Path) -> None:
    path = str(broken(tmp_path, warning=True))
    lenient, strict = run("validate", path), run("validate", "--strict", path)
    assert (lenient.returncode, strict.returncode) == (0, 1)
    assert "warning EFA" in lenient.stdout


def test_findings_as_json(tmp_path: Path) -> None:
    done = run("validate", "--format", "json", str(broken(tmp_path)))
    findings = json.loads(done.stdout)["findings"]
    assert {"CFG003"} == {finding["rule"] for finding in findings}
    assert all(finding["line"] > 1 and finding["column"] >= 1 for finding in findings)


@pytest.mark.parametrize("verb", ["validate", "plan"])
@pytest.mark.parametrize("file", ["nowhere.yaml", "."])
def test_what_cannot_be_opened_ends_with_two(verb: str, file: str) -> None:
    done = run(verb, file)
    assert done.returncode == 2
    assert done.stderr.startswith(f"{file}: cannot be opened: ")
    assert "Traceback" not in done.stderr


def test_a_syntax_error_has_its_place(tmp_path: Path) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: a\nregion: [us-east-2\n")
    done = run("validate", str(path))
    assert done.returncode == 1
    assert f"{path}:3:1: error CFG001" in done.stdout


@pytest.mark.parametrize("arguments", [(), ("frobnicate",), ("explain",), ("validate", "--format", "xml")])
def test_wrong_usage_ends_with_two(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert "usage:" in done.stderr


def test_plan_prints_the_summary_and_the_same_bytes_twice() -> None:
    first, second = run("plan", "cluster.yaml"), run("plan", "cluster.yaml")
    assert first.returncode == 0
    assert first.stdout == second.stdout
    for expected in ("p5.48xlarge", "capacity-block", "Not proved by synthesis", "us-east-2b", "32"):
        assert expected in first.stdout


def test_plan_as_json_holds_the_decisions() -> None:
    plan = json.loads(run("plan", "--format", "json", "cluster.yaml").stdout)
    pool = next(item for item in plan["pools"] if item["name"] == "h100")
    assert pool["efa_interfaces"] == 32
    assert pool["image"]["ami_type"] == "AL2023_x86_64_NVIDIA"
    assert plan["storage"]["lustre"][0]["mount_name"] == {
        "stack": "llm-train-storage",
        "output": "LustreScratchMountName",
    }


def test_plan_of_a_faulty_file_prints_findings_only(tmp_path: Path) -> None:
    done = run("plan", str(broken(tmp_path)))
    assert (done.returncode, done.stdout) == (1, "")
    assert "CFG003" in done.stderr


def test_every_rule_that_is_listed_is_explained() -> None:
    listed = [line.split()[0] for line in run("rules").stdout.splitlines()]
    assert len(listed) == len(set(listed)) > 50
    for rule in (listed[0], listed[-1]):
        assert run("explain", rule).stdout.startswith(f"{rule} (")


def test_explain_shows_both_examples() -> None:
    text = run("explain", "plc001").stdout
    assert text.startswith("PLC001 (error): ")
    assert "wrong:" in text and "right:" in text and "source:" in text


def test_explain_of_an_unknown_rule_names_near_ones() -> None:
    done = run("explain", "EFA0001")
    assert done.returncode == 2
    assert "did you mean EFA" in done.stderr


def test_schema_is_json() -> None:
    assert json.loads(run("schema").stdout)["title"] == "cluster.yaml"


def test_init_writes_a_valid_starter_and_never_overwrites(tmp_path: Path) -> None:
    first = run("init", "karpenter", cwd=tmp_path)
    assert first.returncode == 0
    assert run("validate", "cluster.yaml", cwd=tmp_path).returncode == 0
    (tmp_path / "cluster.yaml").write_text("mine")
    second = run("init", cwd=tmp_path)
    assert second.returncode == 2
    assert "is there already" in second.stderr
    assert (tmp_path / "cluster.yaml").read_text() == "mine"
    assert run("init", "--force", cwd=tmp_path).returncode == 0
    assert [path.name for path in tmp_path.iterdir()] == ["cluster.yaml"]


def test_init_lists_its_shapes_and_refuses_others() -> None:
    assert "p6-b300" in run("init", "--list").stdout
    done = run("init", "karpentr", "-o", "never.yaml")
    assert done.returncode == 2
    assert "did you mean karpenter?" in done.stderr


@pytest.mark.parametrize("folder", ["file", "nowhere"])
def test_init_into_a_folder_that_is_not_there(tmp_path: Path, folder: str) -> None:
    (tmp_path / "file").write_text("")
    done = run("init", "-o", str(tmp_path / folder / "c.yaml"))
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path / folder}: no such folder\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk_is_no_fault_of_ours() -> None:
    done = subprocess.run(
        f"{sys.executable} -m eks_training plan > /dev/full", shell=True, cwd=ROOT, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr and "Traceback" not in done.stderr


def test_a_reader_that_stops_early_is_no_fault() -> None:
    done = subprocess.run(
        f"{sys.executable} -m eks_training schema | head -n 1",
        shell=True,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "{\n"
    assert done.stderr == ""


def test_no_colour_in_a_pipe(tmp_path: Path) -> None:
    assert "\x1b" not in run("validate", str(broken(tmp_path))).stdout
