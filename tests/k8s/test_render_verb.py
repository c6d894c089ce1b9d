"""``python -m eks_training render``: files from an outputs file, or a plain word about what is missing."""

import json
from pathlib import Path

import pytest
import yaml

from eks_training import cli
from k8s.render import INDEX
from tests.k8s.deployment import outputs_of
from tests.synthesis import ROOT, plan_of

pytestmark = pytest.mark.template

CLUSTER = str(ROOT / "cluster.yaml")


def outputs_file(folder: Path, **changes: dict[str, str] | None) -> Path:
    outputs = {**outputs_of(plan_of((ROOT / "cluster.yaml").read_text())), **changes}
    path = folder / "outputs.json"
    path.write_text(json.dumps({stack: values for stack, values in outputs.items() if values is not None}))
    return path


def test_the_objects_of_the_shipped_cluster(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dist = tmp_path / "dist"
    code = cli.main(["render", CLUSTER, "--outputs", str(outputs_file(tmp_path)), "-o", str(dist)])
    assert code == 0
    index = json.loads((dist / INDEX).read_text())
    (manifest,) = index["manifests"]
    objects = list(yaml.safe_load_all((dist / manifest["file"]).read_text()))
    assert [(item["kind"], item["metadata"]["name"]) for item in objects] == [
        ("EC2NodeClass", "h200"),
        ("NodePool", "h200"),
    ]
    assert [(item["name"], item["wave"], item["after"]) for item in index["releases"]] == [
        ("aws-efa-k8s-device-plugin", 0, []),
        ("karpenter-crd", 0, []),
        ("nvidia-device-plugin", 0, []),
        ("karpenter", 1, ["karpenter-crd"]),
    ]
    assert str(dist / INDEX) in capsys.readouterr().out


def test_missing_outputs_are_named_and_nothing_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    outputs = outputs_file(tmp_path, **{"llm-train-network": None})
    code = cli.main(["render", CLUSTER, "--outputs", str(outputs), "-o", str(tmp_path / "dist")])
    err = capsys.readouterr().err
    assert code == 2
    assert "llm-train-network (no such stack in the file): " in err and "TrainingSubnetId" in err
    assert not (tmp_path / "dist").exists()


@pytest.mark.parametrize(("text", "says"), [("{", "not JSON"), ("[]", "outputs.json: "), (None, "cannot be opened")])
def test_a_file_that_is_no_outputs_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str | None, says: str
) -> None:
    path = tmp_path / "outputs.json"
    if text is not None:
        path.write_text(text)
    assert cli.main(["render", CLUSTER, "--outputs", str(path), "-o", str(tmp_path / "dist")]) == 2
    assert says in capsys.readouterr().err


def test_a_faulty_cluster_is_refused_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "c.yaml"
    path.write_text("name: c\n")
    assert cli.main(["render", str(path), "--outputs", "nowhere.json"]) == 1
    assert "CFG004" in capsys.readouterr().err
