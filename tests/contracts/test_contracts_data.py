"""The shipped contracts: complete, closed where they should be, and what the upstream data folder gives."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from eks_training.contracts.build import build_all, read_folder
from eks_training.contracts.chart import UNREVIEWED, OpenTable, moved
from eks_training.contracts.model import Contract, Key, check, load
from eks_training.contracts.near import ITEM, NAME
from eks_training.facts.versions import load_versions
from eks_training.finding import Path as Place
from eks_training.finding import Severity, path_text

pytestmark = pytest.mark.schema

FOLDER = Path(__file__).resolve().parents[2] / "k8s" / "contracts"
CONTRACTS = {file.relative_to(FOLDER).as_posix(): load(file) for file in sorted(FOLDER.rglob("*.json"))}
CHARTS = {contract.name: contract for contract in CONTRACTS.values() if contract.kind == "chart"}
KINDS = {contract.name: contract for contract in CONTRACTS.values() if contract.kind == "crd"}
STALE_OR_PARTIAL = {"neuron-helm-chart": "stale", "mariadb-operator": "partial"}
each = pytest.mark.parametrize("contract", CONTRACTS.values(), ids=CONTRACTS)
each_chart = pytest.mark.parametrize("name", CHARTS)

SAMPLES = {"object": {}, "array": [], "string": "a", "integer": 1, "number": 1, "boolean": True, "null": None}


def chosen(contract: Contract, place: Place) -> Place:
    """Put a name and an index where the place leaves them to the user."""
    made: Place = ()
    for part in place:
        parent = contract.at(made)
        name = "Anyname" if parent is not None and parent.names else "anyname"
        made = (*made, name if part == NAME else 0 if part == ITEM else part)
    return made


def nested(path: Place, value: Any) -> Any:
    for part in reversed(path):
        value = [value] if isinstance(part, int) else {part: value}
    return value


def sample(key: Key) -> Any:
    return key.enum[0] if key.enum else SAMPLES[key.types[0] if key.types else "string"]


def slips(name: str) -> Iterator[str]:
    """The usual slips of the finger: a letter too many, one too few, two exchanged, another case."""
    middle = len(name) // 2
    yield name[:middle] + name[middle : middle + 1] + name[middle:]
    if len(name) > 3:
        yield name[:middle] + name[middle + 1 :]
        yield name[: middle - 1] + name[middle] + name[middle - 1] + name[middle + 1 :]
        yield name.upper()


def closed_places(contract: Contract) -> list[tuple[Place, Key]]:
    """Every named key whose parent refuses others, with that parent."""
    parents: dict[Place, Key] = {(): contract.tree, **dict(contract.places)}
    return [
        (place, parents[place[:-1]])
        for place, _ in contract.places
        if place[-1] not in (NAME, ITEM) and parents[place[:-1]].closed
    ]


def test_every_chart_and_rendered_kind_has_a_contract() -> None:
    assert len(CHARTS) == 21
    assert len(KINDS) == 15
    assert all(path == f"{contract.name}.json" for path, contract in CONTRACTS.items() if contract.kind == "chart")
    incomplete = {one.name: one.completeness for one in CONTRACTS.values() if one.completeness != "complete"}
    assert incomplete == STALE_OR_PARTIAL
    assert all(CHARTS[name].note for name in incomplete)
    assert all(file.stat().st_size < 300_000 for file in FOLDER.rglob("*.json"))


@each
def test_a_contract_says_where_it_was_read(contract: Contract) -> None:
    repository, _, commit = contract.source.partition("@")
    assert repository.count("/") == 1 and len(commit) == 40
    assert contract.version


@each_chart
def test_a_contract_is_of_the_pinned_version_or_says_why_not(name: str) -> None:
    pinned = load_versions().get(name)
    assert pinned is None or pinned.version in (None, CHARTS[name].version) or CHARTS[name].note


@each
def test_every_place_is_decided(contract: Contract) -> None:
    for place, key in contract.places:
        assert key.open != UNREVIEWED, place
        if "object" in key.types or not key.types:
            assert key.open or key.closed or key.values is not None, place
        if "array" in key.types or not key.types:
            assert key.open or key.items is not None, place


@each
def test_a_slip_in_a_closed_key_is_refused_and_answered(contract: Contract) -> None:
    wanted = Severity.ERROR if contract.completeness == "complete" else Severity.WARNING
    for place, parent in closed_places(contract):
        real = chosen(contract, place)
        for wrong in slips(str(real[-1])):
            if wrong in parent.keys:
                continue
            found = [one for one in check(contract, nested((*real[:-1], wrong), {})) if one.problem == "unknown key"]
            assert [one.path for one in found] == [(*real[:-1], wrong)]
            assert found[0].near[0] == path_text(real), (wrong, found[0].near)
            assert found[0].severity is wanted


@each
def test_every_legal_key_is_let_through(contract: Contract) -> None:
    for place, key in contract.places:
        path = chosen(contract, place)
        found = check(contract, nested(path, sample(key)))
        assert [one for one in found if one.problem in ("unknown key", "wrong type", "not an allowed value")] == []


@each_chart
def test_the_default_values_of_a_chart_fit_its_contract(name: str, upstream: Path) -> None:
    values = yaml.safe_load((upstream / name / CHARTS[name].version / "values.yaml").read_text(encoding="utf-8"))
    assert check(CHARTS[name], values or {}) == []


# The chart's own schema refuses these, so Helm does. A template still names them, for a parent chart or for its notes.
REFUSED_BY_SCHEMA = {
    "jupyterhub": {
        "jupyterhub", "jupyterhub.fullnameOverride", "jupyterhub.hub.existingSecret", "jupyterhub.nameOverride",
        "singleuser.cloudMetadata.enabled",
    },
}  # fmt: skip


@each_chart
def test_what_the_templates_name_is_legal(name: str, upstream: Path) -> None:
    files = read_folder(upstream / name / CHARTS[name].version, name)
    paths = moved(files, OpenTable.read())
    assert {".".join(path) for path in paths if CHARTS[name].at(path) is None} == REFUSED_BY_SCHEMA.get(name, set())


def test_the_contracts_are_what_the_upstream_data_gives(upstream: Path) -> None:
    table = OpenTable.read()
    made = build_all(upstream, table)
    kept = {file.relative_to(FOLDER).as_posix(): file.read_text(encoding="utf-8") for file in FOLDER.rglob("*.json")}
    assert made.keys() == kept.keys()
    assert [name for name, text in made.items() if text != kept[name]] == []
    written = {(part, one) for part, entries in table.raw["open"].items() for many in entries for one in many.split()}
    assert written - table.used == set(), "entries of open_subtrees.yaml that decide nothing"


SLURM_NEAR = {
    "compute.partitions": ("partitions",),
    "efa.enabled": (),
    "nodesets.g.image": ("nodesets.g.logfile.image", "nodesets.g.slurmd.image"),
    "nodesets.g.affinity": ("nodesets.g.podSpec.affinity",),
    "nodesets.g.gpus": (),
    "nodesets.g.volumeClaimTemplates": (),
    "nodesets.g.useResourceLimits": (),
    "nodesets.g.podspec": ("nodesets.g.podSpec",),
    "nodesets.g.metadata.label": ("nodesets.g.metadata.labels",),
    "loginsets.x.sssdConf": (),
    "slurmKeyRef": ("slurmKey",),
    "priorityClassName": ("priorityClass",),
    "controller.extraconf": ("controller.extraConf", "controller.extraConfMap"),
    "partitions.p.nodeset": ("partitions.p.nodesets",),
}


@pytest.mark.parametrize("path", SLURM_NEAR)
def test_invented_values_of_slurm_are_refused(path: str) -> None:
    parts = tuple(path.split("."))
    found = check(CHARTS["slurm"], nested(parts, {}))
    assert [(one.problem, one.severity) for one in found] == [("unknown key", Severity.ERROR)]
    assert parts[: len(found[0].path)] == found[0].path
    assert found[0].near[:2] == SLURM_NEAR[path]


@pytest.mark.parametrize(
    ("chart", "values", "path"),
    [
        ("slurm", {"nodesets": [{"name": "g"}]}, ("nodesets",)),
        ("slurm", {"nodesets": {"g": {"scalingMode": "Daemonset"}}}, ("nodesets", "g", "scalingMode")),
        ("slurm", {"nodesets": {"g": {"replicas": "2"}}}, ("nodesets", "g", "replicas")),
        ("karpenter", {"settings": {"featureGates": {"x": True}}}, ("settings", "featureGates", "x")),
        ("kuberay-operator", {"batchScheduler": {"name": "bogus"}}, ("batchScheduler", "name")),
        ("kuberay-operator", {"featureGates": {"RayCronJob": True}}, ("featureGates",)),
        ("volcano", {"scheduler": {}}, ("scheduler",)),
        ("volcano", {"custom": {"schedulerConfigOverride": "x"}}, ("custom", "schedulerConfigOverride")),
        ("jupyterhub", {"auth": {}}, ("auth",)),
        ("jupyterhub", {"singleuser": {"gpu": 1}}, ("singleuser", "gpu")),
        ("jupyterhub", {"hub": {"config": {"jupyterHub": {}}}}, ("hub", "config", "jupyterHub")),
        ("jupyterhub", {"singleuser": {"storage": {"type": "efs"}}}, ("singleuser", "storage", "type")),
        ("jupyterhub", {"cull": {"timeout": "1h"}}, ("cull", "timeout")),
        ("jupyterhub", {"hub": {"extraConfig": "x = 1"}}, ("hub", "extraConfig")),
        ("jupyterhub", {"jupyterhub": {}}, ("jupyterhub",)),
        ("cert-manager", {"crd": {"enabled": True}}, ("crd",)),
        ("gpu-operator", {"worker": {}}, ("worker",)),
    ],
)
def test_other_invented_values_are_refused(chart: str, values: Any, path: Place) -> None:
    assert [(one.path, one.severity) for one in check(CHARTS[chart], values)] == [(path, Severity.ERROR)]


@pytest.mark.parametrize(
    ("chart", "values"),
    [
        ("kuberay-operator", {"watchNamespace": "ray"}),
        ("kuberay-operator", {"watchNamespace": ["ray", "research"]}),
        ("slurm", {"nodesets": {"g": {"slurmd": {"image": "a/b:1", "anyContainerField": 1}, "podSpec": {"any": 1}}}}),
        ("slurm", {"nodesets": {"g": {"extraConfMap": {"Gres": ["gpu:h100:8"], "Weight": 1}}}}),
        ("slurm", {"nodesets": {"g": None}, "partitions": {"p": {"nodesets": ["g"], "configMap": {"Default": "YES"}}}}),
        ("slurm", {"configFiles": {"gres.conf": "x", "cgroup.conf": "y"}}),
        ("jupyterhub", {"hub": {"config": {"GenericOAuthenticator": {"client_id": "x"}}}}),
        ("jupyterhub", {"singleuser": {"profileList": [{"display_name": "x", "kubespawner_override": {}}]}}),
        ("jupyterhub", {"singleuser": {"extraResource": {"limits": {"nvidia.com/gpu": 1}}}}),
        ("nvidia-device-plugin", {"affinity": None}),
        ("volcano", {"custom": {"scheduler_config_override": "actions: allocate"}}),
    ],
)
def test_real_values_are_let_through(chart: str, values: Any) -> None:
    assert check(CHARTS[chart], values) == []


POD: dict[str, Any] = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
BASES: dict[str, dict[str, Any]] = {
    "kubeflow.org/v2beta1/MPIJob": {
        "slotsPerWorker": 8, "runPolicy": {"cleanPodPolicy": "Running"},
        "mpiReplicaSpecs": {"Launcher": {"replicas": 1, "template": POD}, "Worker": {"replicas": 2, "template": POD}},
    },
    "karpenter.k8s.aws/v1/EC2NodeClass": {
        "role": "r", "amiSelectorTerms": [{"alias": "al2023@v20260714"}],
        "subnetSelectorTerms": [{"id": "subnet-1"}], "securityGroupSelectorTerms": [{"id": "sg-1"}],
        "placementGroupSelector": {"name": "pg"}, "capacityReservationSelectorTerms": [{"id": "cr-1"}],
        "networkInterfaces": [{"networkCardIndex": 0, "deviceIndex": 0, "interfaceType": "interface"},
                              {"networkCardIndex": 1, "deviceIndex": 1, "interfaceType": "efa-only"}],
    },
    "karpenter.sh/v1/NodePool": {
        "replicas": 2, "limits": {"nodes": 2},
        "template": {"spec": {
            "nodeClassRef": {"group": "karpenter.k8s.aws", "kind": "EC2NodeClass", "name": "n"},
            "requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["reserved"]}],
            "expireAfter": "Never",
        }},
        "disruption": {"consolidateAfter": "10m", "consolidationPolicy": "WhenEmpty",
                       "budgets": [{"nodes": "0", "reasons": ["Drifted"]}]},
    },
    "batch.volcano.sh/v1alpha1/Job": {
        "minAvailable": 2, "tasks": [{"name": "worker", "replicas": 2, "template": POD}],
        "policies": [{"event": "PodEvicted", "action": "RestartJob"}], "networkTopology": {"mode": "hard"},
    },
    "topology.volcano.sh/v1alpha1/HyperNode": {
        "tier": 1, "members": [{"type": "Node", "selector": {"exactMatch": {"name": "n"}}}],
    },
    "ray.io/v1/RayJob": {
        "entrypoint": "python x.py",
        "rayClusterSpec": {"headGroupSpec": {"rayStartParams": {}, "template": POD}},
    },
    "slinky.slurm.net/v1beta1/NodeSet": {
        "controllerRef": {"name": "c"}, "scalingMode": "StatefulSet", "slurmd": {"image": "i"},
        "partition": {"enabled": True},
    },
}  # fmt: skip
REMOVE = object()
WRONG_OBJECTS: list[tuple[str, Place, Any, str]] = [
    ("kubeflow.org/v2beta1/MPIJob", ("gpusPerWorker",), 8, "unknown key"),
    ("kubeflow.org/v2beta1/MPIJob", ("cleanPodPolicy",), "All", "unknown key"),
    ("kubeflow.org/v2beta1/MPIJob", ("mpiImplementation",), "openmpi", "not an allowed value"),
    ("karpenter.k8s.aws/v1/EC2NodeClass", ("efa",), True, "unknown key"),
    ("karpenter.k8s.aws/v1/EC2NodeClass", ("placementGroup",), "pg", "unknown key"),
    ("karpenter.k8s.aws/v1/EC2NodeClass", ("networkInterfaces", 1, "interfaceType"), "efa", "not an allowed value"),
    ("karpenter.k8s.aws/v1/EC2NodeClass", ("subnetSelectorTerms",), REMOVE, "missing key"),
    ("karpenter.sh/v1/NodePool", ("ttlSecondsUntilExpired",), 60, "unknown key"),
    ("karpenter.sh/v1/NodePool", ("disruption", "consolidationPolicy"), "WhenUnderutilized", "not an allowed value"),
    ("karpenter.sh/v1/NodePool", ("disruption", "expireAfter"), "Never", "unknown key"),
    ("karpenter.sh/v1/NodePool", ("disruption", "consolidateAfter"), REMOVE, "missing key"),
    ("karpenter.sh/v1/NodePool", ("disruption", "budgets", 0, "nodes"), 0, "wrong type"),
    ("karpenter.sh/v1/NodePool", ("disruption", "budgets", 0, "nodes"), "many", "wrong form"),
    ("karpenter.sh/v1/NodePool", ("disruption", "budgets", 0, "reasons"), ["Expired"], "not an allowed value"),
    ("karpenter.sh/v1/NodePool", ("template", "spec", "kubelet"), {}, "unknown key"),
    ("karpenter.sh/v1/NodePool", ("template", "spec", "nodeClassRef", "group"), REMOVE, "missing key"),
    ("batch.volcano.sh/v1alpha1/Job", ("policies", 0, "event"), "PodDead", "not an allowed value"),
    ("batch.volcano.sh/v1alpha1/Job", ("networkTopology", "mode"), "rack", "not an allowed value"),
    ("topology.volcano.sh/v1alpha1/HyperNode", ("tier",), REMOVE, "missing key"),
    ("ray.io/v1/RayJob", ("gpus",), 8, "unknown key"),
    ("slinky.slurm.net/v1beta1/NodeSet", ("scalingMode",), "Daemonset", "not an allowed value"),
    ("slinky.slurm.net/v1beta1/NodeSet", ("gpus",), 8, "unknown key"),
    ("slinky.slurm.net/v1beta1/NodeSet", ("controllerRef",), REMOVE, "missing key"),
]


def resource(kind: str) -> dict[str, Any]:
    group, version, name = kind.split("/")
    metadata = {"name": "x", "namespace": "y", "labels": {"a": "b"}}
    return {"apiVersion": f"{group}/{version}", "kind": name, "metadata": metadata, "spec": BASES[kind]}


@pytest.mark.parametrize("kind", BASES)
def test_a_good_object_fits(kind: str) -> None:
    assert check(KINDS[kind], resource(kind)) == []


@pytest.mark.parametrize(("kind", "path", "value", "problem"), WRONG_OBJECTS)
def test_a_wrong_object_is_refused(kind: str, path: Place, value: Any, problem: str) -> None:
    made = json.loads(json.dumps(resource(kind)))
    parent = made["spec"]
    for part in path[:-1]:
        parent = parent[part]
    if value is REMOVE:
        del parent[path[-1]]
    else:
        parent[path[-1]] = value
    found = check(KINDS[kind], made)
    assert [(one.problem, one.severity) for one in found] == [(problem, Severity.ERROR)]
    assert found[0].path[: len(path) + 1] == ("spec", *path)


@pytest.mark.parametrize("kind", KINDS)
def test_an_object_of_another_kind_is_refused(kind: str) -> None:
    wrong = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"lables": {}}, "status": {}}
    at = {one.path for one in check(KINDS[kind], wrong)}
    assert {("apiVersion",), ("kind",), ("metadata", "lables"), ("status",)} <= at


def test_a_class_of_jupyterhub_in_small_letters_is_answered() -> None:
    (found,) = check(CHARTS["jupyterhub"], {"hub": {"config": {"jupyterHub": {}}}})
    assert (found.problem, found.near[0]) == ("wrong form", "hub.config.JupyterHub")
