"""The stand-alone delivery: files that need no deployment any more, whole or not at all, the same bytes each time."""

import json
from graphlib import CycleError
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_training.plan.value import Output
from k8s.render import render, rendered
from k8s.rendering import (
    InvalidOutputs,
    MissingOutputs,
    OutputsFile,
    UnresolvedText,
    refuse_unresolved,
    waves,
    yaml_text,
)
from tests.conftest import Golden
from tests.k8s.deployment import FORMS, HEAD, all_pools, one_pool, outputs_of, shipped
from tests.synthesis import plan_of

pytestmark = pytest.mark.template

FILE = "manifests/02-karpenter-pools.yaml"


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in shipped().items()])
def test_the_index_tells_what_is_in_the_files(text: str, tmp_path: Path) -> None:
    plan = plan_of(text)
    written = render(plan, outputs_of(plan), tmp_path)
    assert set(written) == {path for path in tmp_path.rglob("*") if path.is_file()}
    assert written[-1] == tmp_path / "index.json"
    index = json.loads((tmp_path / "index.json").read_text())
    assert index.keys() == {"releases", "manifests"}
    (entry,) = index["manifests"]
    assert (entry["file"], entry["wave"], entry["after"]) == (FILE, 2, ["karpenter"])
    found = [
        {"apiVersion": item["apiVersion"], "kind": item["kind"], "name": item["metadata"]["name"]}
        for item in yaml.safe_load_all((tmp_path / FILE).read_text())
    ]
    assert entry["objects"] == found
    assert len(found) == 2 * len(plan.karpenter_pools)


@pytest.mark.parametrize(("name", "text"), shipped().items(), ids=shipped().keys())
def test_golden_dist(name: str, text: str, golden: Golden) -> None:
    plan = plan_of(text)
    golden(f"dist-{name}", rendered(plan, outputs_of(plan)))


def test_outputs_are_in_the_file(tmp_path: Path) -> None:
    plan = plan_of(one_pool("static"))
    render(plan, outputs_of(plan), tmp_path)
    text = (tmp_path / FILE).read_text()
    for form in ("ClusterSecurityGroupId", "NodeSecurityGroupId", "EfaSecurityGroupId", "TrainingSubnetId"):
        assert f"- id: {FORMS[form]}\n" in text
    assert "role: made-NodeRole\n" in text


def test_two_renders_are_byte_identical(tmp_path: Path) -> None:
    plan = plan_of(all_pools())
    render(plan, outputs_of(plan), tmp_path / "a")
    render(plan_of(all_pools()), outputs_of(plan), tmp_path / "b")
    render(plan, outputs_of(plan), tmp_path / "b")
    assert files(tmp_path / "a") == files(tmp_path / "b")


def test_all_missing_outputs_are_listed_at_once_and_nothing_is_written(tmp_path: Path) -> None:
    plan = plan_of(one_pool("static"))
    outputs = outputs_of(plan)
    del outputs["t-network"]
    outputs["t-karpenter"]["NodeRoleName"] = ""
    with pytest.raises(MissingOutputs) as fault:
        render(plan, outputs, tmp_path / "dist")
    assert fault.value.missing == (
        Output("t-karpenter", "NodeRoleName"),
        Output("t-network", "EfaSecurityGroupId"),
        Output("t-network", "NodeSecurityGroupId"),
        Output("t-network", "TrainingSubnetId"),
    )
    assert str(fault.value).splitlines()[:3] == [
        "4 deployment outputs missing:",
        "  t-karpenter: NodeRoleName",
        "  t-network (no such stack in the file): EfaSecurityGroupId, NodeSecurityGroupId, TrainingSubnetId",
    ]
    assert not (tmp_path / "dist").exists()


def test_former_files_stay_on_failure(tmp_path: Path) -> None:
    plan = plan_of(one_pool("static"))
    render(plan, outputs_of(plan), tmp_path)
    before = files(tmp_path)
    with pytest.raises(MissingOutputs):
        render(plan, {}, tmp_path)
    outputs = outputs_of(plan)
    outputs["t-karpenter"]["NodeRoleName"] = "${Token[TOKEN.7]}"
    with pytest.raises(UnresolvedText, match=r"02-karpenter-pools.yaml:\d+: unresolved value in `role: "):
        render(plan, outputs, tmp_path)
    assert files(tmp_path) == before


def test_without_pools_there_is_only_an_index() -> None:
    texts = rendered(plan_of(HEAD), {})
    assert texts.keys() == {"apply.sh", "index.json"}
    assert json.loads(texts["index.json"]) == {"releases": [], "manifests": []}


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{", "not JSON"),
        ("\xff", "not JSON"),
        ("[]", "expected an object of stacks"),
        ('{"a": "x"}', "a: expected an object of outputs"),
        ('{"a": {"b": 1, "c": null}}', "a.c: expected text"),
    ],
)
def test_a_file_that_is_no_outputs_file(content: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InvalidOutputs, match=said):
        OutputsFile.read(path)


def test_an_outputs_file(tmp_path: Path) -> None:
    path = tmp_path / "outputs.json"
    path.write_text('{"t-network": {"VpcId": "vpc-1"}}')
    outputs = OutputsFile.read(path)
    assert outputs.resolve(Output("t-network", "VpcId")) == "vpc-1"
    assert outputs.resolve("vpc-2") == "vpc-2"
    with pytest.raises(MissingOutputs, match="t-network: SubnetId"):
        outputs.resolve(Output("t-network", "SubnetId"))


@pytest.mark.parametrize(
    "text", ["a: ${Token[TOKEN.1]}", "a: '#{Token[TOKEN.1]}'", "- <unresolved>", "<unresolved x.y>"]
)
def test_unresolved_text_is_refused(text: str) -> None:
    with pytest.raises(UnresolvedText) as fault:
        refuse_unresolved({"good.yaml": "a: b\n", "bad.yaml": f"a: 1\n{text}\n"})
    assert [(name, line) for name, line, _ in fault.value.where] == [("bad.yaml", 2)]


def test_text_of_shells_and_templates_is_no_placeholder() -> None:
    refuse_unresolved({"a.yaml": "a: ${HOME} $(date) {{ x }} <resolved>\n"})


DOUBTFUL = [
    "0",
    "10%",
    "1e3",
    "0o14",
    "0x1f",
    "1_000",
    "12:30:45",
    "y",
    "N",
    "yes",
    "off",
    "null",
    "~",
    "-",
    ".5",
    "1.",
]
DOUBTFUL += [
    "",
    "true",
    "2026-12-01",
    "+1",
    ".inf",
    "=",
    "a: b",
    "# x",
    "a\nb\n",
    " a",
    "é",
    "@x",
    "{{ x }}",
    "*",
    "&a",
]


def test_text_stays_text() -> None:
    document: dict[str, Any] = {"items": DOUBTFUL, "keys": dict.fromkeys(DOUBTFUL, 1), "numbers": [1, 1.5, True]}
    text = yaml_text([document])
    assert yaml.safe_load(text) == document
    # Plain in YAML 1.1 as Python reads it, a number or a truth value in other readers.
    for doubtful in ("1e3", "0o14", "y", "N"):
        assert f'- "{doubtful}"\n' in text


def test_documents_keep_their_order_and_keys_are_sorted() -> None:
    shared = {"z": 1, "a": ["x" * 300 + " " + "y" * 300]}
    text = yaml_text([{"b": shared, "a": shared}, {"a": 1}])
    assert text == yaml_text([{"a": dict(reversed(shared.items())), "b": shared}, {"a": 1}])
    assert text.count("---\n") == 2
    assert "&" not in text and len(text.splitlines()) == 11


def test_waves_follow_the_edges() -> None:
    assert waves({"pools": ["karpenter"], "karpenter": ["crds"], "crds": [], "other": []}) == {
        "crds": 0,
        "other": 0,
        "karpenter": 1,
        "pools": 2,
    }
    with pytest.raises(CycleError):
        waves({"a": ["b"], "b": ["a"]})
    with pytest.raises(KeyError):
        waves({"a": ["nothing"]})
