"""Every rendered object against the real definitions, as files of their makers, and faults that those must see."""

import copy
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from k8s.render import rendered
from tests.k8s.crd_schema import Definition, load
from tests.k8s.deployment import all_pools, outputs_of, shipped
from tests.synthesis import plan_of

pytestmark = pytest.mark.template

Fields = dict[str, Any]
Edit = Callable[[Fields], object]


@lru_cache(maxsize=8)
def objects(text: str) -> list[Fields]:
    """What another reader finds in the rendered files."""
    plan = plan_of(text)
    files = rendered(plan, outputs_of(plan))
    manifests = [content for name, content in files.items() if name.startswith("manifests/")]
    return [item for content in manifests for item in yaml.safe_load_all(content)]


@pytest.fixture(scope="module")
def definitions(upstream: Path) -> dict[str, Definition]:
    (version,) = (upstream / "karpenter-crd").iterdir()
    files = ("karpenter.k8s.aws_ec2nodeclasses.yaml", "karpenter.sh_nodepools.yaml")
    found = [load(version / "crds" / file) for file in files]
    return {definition.kind: definition for definition in found}


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in shipped().items()] + [all_pools()])
def test_every_object_holds_against_its_definition(definitions: dict[str, Definition], text: str) -> None:
    made = objects(text)
    assert made
    for item in made:
        assert definitions[item["kind"]].complaints(item) == []


OPEN = {"labels", "tags", "limits"}


def places(tree: Any, at: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every field whose name the definition fixes."""
    if isinstance(tree, dict):
        for name, part in tree.items():
            yield (*at, name)
            if name not in OPEN:
                yield from places(part, (*at, name))
    elif isinstance(tree, list):
        for index, part in enumerate(tree):
            yield from places(part, (*at, index))


def parent(tree: Any, path: tuple[str | int, ...]) -> Any:
    for step in path[:-1]:
        tree = tree[step]
    return tree


def test_a_typo_at_any_depth_is_refused(definitions: dict[str, Definition]) -> None:
    missed, tried = [], 0
    for item in objects(all_pools()):
        for path in places(item["spec"], ("spec",)):
            broken = copy.deepcopy(item)
            inside = parent(broken, path)
            inside[f"{path[-1]}x"] = inside.pop(path[-1])
            tried += 1
            if not definitions[item["kind"]].complaints(broken):
                missed.append((item["kind"], path))
    assert missed == []
    assert tried > 500


BROKEN: list[tuple[str, str, Edit, str]] = [
    ("static", "EC2NodeClass", lambda spec: spec.pop("amiSelectorTerms"), "amiSelectorTerms: missing"),
    ("static", "EC2NodeClass", lambda spec: spec.pop("role"), "exactly one of ['role', 'instanceProfile']"),
    ("static", "EC2NodeClass", lambda spec: spec.update(instanceProfile="p"), "exactly one of"),
    ("static", "EC2NodeClass", lambda spec: spec.update(instanceStorePolicy="RAID1"), "'RAID1' is none of"),
    ("static", "EC2NodeClass", lambda spec: spec["metadataOptions"].update(httpPutResponseHopLimit="1"), "no integer"),
    ("static", "EC2NodeClass", lambda spec: spec["metadataOptions"].update(httpPutResponseHopLimit=65), "at most 64"),
    ("static", "EC2NodeClass", lambda spec: spec["networkInterfaces"][1].update(interfaceType="efa"), "'efa' is none"),
    ("static", "EC2NodeClass", lambda spec: spec["networkInterfaces"].pop(0), "must include a primary interface"),
    ("static", "EC2NodeClass", lambda spec: spec["networkInterfaces"][2].update(networkCardIndex=0), "at most one efa"),
    ("static", "EC2NodeClass", lambda spec: spec["placementGroupSelector"].update(id="pg-1"), "mutually exclusive"),
    ("static", "EC2NodeClass", lambda spec: spec["placementGroupSelector"].clear(), "expected at least one"),
    ("static", "EC2NodeClass", lambda spec: spec["amiSelectorTerms"].append({"id": "ami-1"}), "mutually exclusive"),
    ("static", "EC2NodeClass", lambda spec: spec["amiSelectorTerms"][0].update(alias="al3@v1"), "family is not"),
    ("static", "EC2NodeClass", lambda spec: spec["subnetSelectorTerms"].clear(), "cannot be empty"),
    ("static", "EC2NodeClass", lambda spec: spec["subnetSelectorTerms"][0].update(id="net-1"), "does not match"),
    ("static", "EC2NodeClass", lambda spec: spec["tags"].update({"karpenter.sh/nodepool": "x"}), "restricted tag"),
    ("static", "EC2NodeClass", lambda spec: spec["blockDeviceMappings"][0]["ebs"].pop("volumeSize"), "must be defined"),
    ("static", "EC2NodeClass", lambda spec: spec["blockDeviceMappings"].extend(spec["blockDeviceMappings"]), "only"),
    ("static", "EC2NodeClass", lambda spec: spec.update(amiFamily="Bottlerocket"), "must be 'AL2023' or 'Custom'"),
    ("block", "EC2NodeClass", lambda spec: spec["capacityReservationSelectorTerms"][0].update(id="r-1"), "not match"),
    ("static", "NodePool", lambda spec: spec.update(weight=10), "not supported on static"),
    ("static", "NodePool", lambda spec: spec["limits"].update({"nvidia.com/gpu": "32"}), "nodes"),
    ("spot", "NodePool", lambda spec: spec["limits"].update(cpu="many"), "does not match"),
    ("spot", "NodePool", lambda spec: spec["limits"].update(cpu=1.5), "neither a whole number nor text"),
    ("spot", "NodePool", lambda spec: spec["disruption"].pop("consolidateAfter"), "consolidateAfter: missing"),
    ("spot", "NodePool", lambda spec: spec["disruption"]["budgets"][0].update(nodes=1), "1 is no string"),
    ("spot", "NodePool", lambda spec: spec["disruption"]["budgets"][0].update(reasons=["Empty"] * 2), "item twice"),
    ("spot", "NodePool", lambda spec: spec["disruption"]["budgets"][0].update(duration="1h"), "must be set with"),
    ("spot", "NodePool", lambda spec: spec["template"]["spec"].update(expireAfter="7d"), "does not match"),
    ("spot", "NodePool", lambda spec: spec["template"]["spec"]["nodeClassRef"].pop("group"), "group: missing"),
    ("spot", "NodePool", lambda spec: spec["template"]["spec"]["nodeClassRef"].update(name=""), "may not be empty"),
    ("spot", "NodePool", lambda spec: spec["template"]["spec"]["taints"][0].update(value=""), "does not match"),
    ("spot", "NodePool", lambda spec: spec["template"]["spec"]["requirements"][0]["values"].clear(), "must have a"),
    (
        "spot",
        "NodePool",
        lambda spec: spec["template"]["spec"]["requirements"][0].update(key="karpenter.sh/nodepool"),
        "is restricted",
    ),
    (
        "spot",
        "NodePool",
        lambda spec: spec["template"]["metadata"]["labels"].update({"karpenter.k8s.aws/mine": "x"}),
        'label domain "karpenter.k8s.aws" is restricted',
    ),
]


@pytest.mark.parametrize(("name", "kind", "edit", "said"), [pytest.param(*case, id=case[3]) for case in BROKEN])
def test_what_a_definition_refuses(
    definitions: dict[str, Definition], name: str, kind: str, edit: Edit, said: str
) -> None:
    (item,) = (x for x in objects(all_pools()) if x["kind"] == kind and x["metadata"]["name"] == name)
    broken = copy.deepcopy(item)
    edit(broken["spec"])
    complaints = definitions[kind].complaints(broken)
    assert any(said in complaint for complaint in complaints), complaints


def test_a_namespace_a_status_and_another_version_are_refused(definitions: dict[str, Definition]) -> None:
    item = objects(all_pools())[1]
    definition = definitions["NodePool"]
    assert definition.complaints({**item, "metadata": {"name": "x", "namespace": "y"}}) != []
    assert definition.complaints({**item, "status": {}}) == [".status: unknown field"]
    assert definition.complaints({**item, "apiVersion": "karpenter.sh/v1beta1"}) != []


def test_which_rules_are_evaluated(definitions: dict[str, Definition]) -> None:
    for item in objects(all_pools()):
        definitions[item["kind"]].complaints(item)
    # Rules about a former object need one; every other rule compiles (evaluation would fail the tests above).
    assert definitions["EC2NodeClass"].transition_rules == set()
    assert definitions["NodePool"].transition_rules == {
        "has(self.replicas) == has(oldSelf.replicas)",
        "self.group == oldSelf.group",
        "self.kind == oldSelf.kind",
    }
    for definition in definitions.values():
        assert definition.uncompilable() == []
        assert len(definition.evaluated) > 10
