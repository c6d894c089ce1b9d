"""Rules are total, and they guard the planner: whatever a well-typed file says, no rule raises, and what has no error
can be planned."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eks_training.document import parse
from eks_training.facts import facts_for
from eks_training.facts.instances import load_instances
from eks_training.finding import Severity
from eks_training.plan import build
from eks_training.rulebook import Subject, all_rules
from eks_training.spec import Cluster
from eks_training.spec.kubernetes import Kubernetes
from eks_training.spec.network import Network
from eks_training.spec.pool import Pool

pytestmark = pytest.mark.arithmetic

GUARDS = [rule for rule in all_rules() if rule.fixed and rule.severity is Severity.ERROR]
DROP = object()
NEW_TYPE = "p9.48xlarge"
DURATIONS = st.sampled_from(["0s", "10m", "4h", "72h", "240h", "99999d"])
MOMENTS = st.sampled_from(
    ["2026-12-01T11:30:00Z", "2026-12-08T11:30:00+02:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
ZONES = st.sampled_from(["us-east-2a", "us-east-2b", "us-west-2a", "us-east-1a", "use2-az1", "use1-az3", "xx1-az1"])
BLOCKS = st.sampled_from(
    ["0.0.0.0/0", "10.0.0.0/8", "10.64.0.0/16", "10.64.0.0/22", "10.64.0.0/23", "10.64.16.0/28", "10.64.0.1/32",
     "127.0.0.0/16", "169.254.0.0/16", "172.17.0.0/20", "198.19.0.0/16", "224.0.0.0/16", "255.255.255.255/32"]
)  # fmt: skip
COUNTS = st.one_of(st.integers(0, 5), st.sampled_from([64, 600, 1000]))
POSITIVE = COUNTS.map(lambda count: max(1, count))
KEYS = st.sampled_from(
    ["a", "example.com/a", "kubernetes.io/hostname", "karpenter.sh/nodepool", "eks-training/pool", "a..b/c",
     "CriticalAddonsOnly", "eks.amazonaws.com/x", f"{'a' * 63}.example.com/b"]
)  # fmt: skip
RESERVATION = "cr-0a1b2c3d4e5f67890"
GROUP = "arn:aws:resource-groups:us-west-2:111122223333:group/g"


def section(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """A section in which every key may be missing."""
    return st.fixed_dictionaries({}, optional=fields)


NODES = st.one_of(POSITIVE, st.fixed_dictionaries({"max": POSITIVE}, optional={"min": COUNTS, "desired": COUNTS}))
CAPACITY = st.one_of(
    st.sampled_from(["on-demand", "spot", "reservation", "capacity-block"]),
    st.fixed_dictionaries(
        {"type": st.sampled_from(["on-demand", "spot", "reservation", "capacity-block"])},
        optional={"id": st.just(RESERVATION), "resource_group": st.just(GROUP), "start": MOMENTS, "end": MOMENTS},
    ),
)
TAINTS = st.lists(
    st.fixed_dictionaries(
        {"key": KEYS, "effect": st.sampled_from(["NoSchedule", "PreferNoSchedule", "NoExecute"])},
        optional={"value": st.sampled_from(["", "x"])},
    ),
    max_size=3,
)
ODD_TYPES = [
    "nonsense.large",
    NEW_TYPE,
    "trn3.48xlarge",
    "p6e-gb200.36xlarge",
    "trn2u.48xlarge",
    "hpc6id.32xlarge",
    "t3.large",
    "g5.xlarge",
    "trn1.32xlarge",
]
TYPES = st.one_of(st.sampled_from(ODD_TYPES), st.sampled_from(load_instances().names()))
POOL: dict[str, st.SearchStrategy[Any]] = {
    "purpose": st.sampled_from(["training", "notebook", "system"]),
    "instance_type": TYPES,
    "provisioner": st.sampled_from(["node-group", "karpenter"]),
    "nodes": NODES,
    "capacity": CAPACITY,
    "placement": st.sampled_from(["cluster", "none", {"existing": "group"}, {"existing": "pg-0123456789abcdef0"}]),
    "efa": st.sampled_from(["all", "none"]),
    "image": section(
        family=st.sampled_from(["al2023", "bottlerocket"]),
        release=st.sampled_from(["", "-", "latest", "1.35.6-20260714", "1.34.9-20260714", "1.47.0-6154605b", "v1"]),
    ),
    "root_volume": section(
        size_gib=st.sampled_from([20, 100, 65536]),
        iops=st.sampled_from([3000, 80000]),
        throughput_mibps=st.sampled_from([125, 2000]),
    ),
    "local_nvme": st.sampled_from(["raid0", "none"]),
    "labels": st.dictionaries(KEYS, st.sampled_from(["", "x"]), max_size=3),
    "taints": TAINTS,
    "security_groups": st.lists(st.sampled_from(["sg-0123456789abcdef0", "sg-0123456789abcdef1"]), max_size=2),
    "auto_repair": st.booleans(),
    "static_capacity": st.booleans(),
    "longest_job": DURATIONS,
    "checkpoint_interval": DURATIONS,
    "disruption": section(
        expire_after=st.one_of(DURATIONS, st.just("Never")),
        termination_grace_period=DURATIONS,
        consolidation=st.sampled_from(["WhenEmpty", "WhenEmptyOrUnderutilized"]),
        consolidate_after=DURATIONS,
    ),
}
SUBNET = st.fixed_dictionaries(
    {"id": st.sampled_from(["subnet-0123456789abcdef0", "subnet-0123456789abcdef1", "subnet-0123456789abcdef2"]),
     "zone": ZONES, "cidr": BLOCKS}
)  # fmt: skip
NETWORK: dict[str, st.SearchStrategy[Any]] = {
    "training_zone": ZONES,
    "second_zone": ZONES,
    "cidr": BLOCKS,
    "existing_vpc": st.fixed_dictionaries(
        {
            "id": st.just("vpc-0123456789abcdef0"),
            "cidr": BLOCKS,
            "training_subnet": SUBNET,
            "system_subnets": st.lists(SUBNET, min_size=1, max_size=3),
            "control_plane_subnets": st.lists(SUBNET, min_size=2, max_size=3),
        }
    ),
    "egress": st.sampled_from(["nat", "endpoints", "internet-gateway"]),
    "flow_logs": section(enabled=st.booleans()),
}
KUBERNETES: dict[str, st.SearchStrategy[Any]] = {
    "version": st.sampled_from(["1.10", "1.33", "1.34", "1.35", "1.36", "1.99"]),
    "endpoint": section(access=st.sampled_from(["private", "public"]), allowed_cidrs=st.lists(BLOCKS, max_size=2)),
    "administrators": st.lists(
        st.sampled_from(["arn:aws:iam::111122223333:role/a", "arn:aws-cn:iam::444455556666:user/b"]), min_size=1
    ),
    "scaling_tier": st.sampled_from(["standard", "8xl"]),
    "log_retention_days": st.sampled_from([7, 365]),
    "addon_versions": st.dictionaries(
        st.sampled_from(["vpc-cni", "aws-fsx-csi-driver", "aws-mountpoint-s3-csi-driver"]), st.just("v1.0.0-eksbuild.1")
    ),
    "addon_configuration": st.dictionaries(
        st.sampled_from(["vpc-cni", "aws-efs-csi-driver"]),
        st.sampled_from([{}, {"env": 3}, {"env": {"WARM_IP_TARGET": "4"}}, {"env": {"WARM_IP_TARGET": [1]}}]),
    ),
    "support": st.sampled_from(["standard", "extended"]),
}
DECLARED = section(
    arch=st.sampled_from(["amd64", "arm64"]),
    accelerator=st.fixed_dictionaries(
        {"kind": st.sampled_from(["gpu", "neuron"]), "model": st.just("x"), "count": st.integers(1, 16)}
    ),
    network_cards=st.integers(1, 4),
    interfaces_per_card=st.lists(st.integers(1, 4), max_size=4),
    ipv4_per_interface=st.integers(1, 50),
    efa_interfaces=st.integers(0, 4),
    efa_cards=st.lists(st.integers(0, 4), max_size=4),
    instance_store_gb=st.integers(0, 4),
).map(lambda facts: {"source": "a data sheet", **facts})
GRANT = {"namespace": "kube-system", "service_account": "karpenter", "access": "read"}
GRANTED = {"buckets": {"a": {"create": {}, "grants": [GRANT]}}}
ROOT: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["a", "a-cluster-with-a-very-long-name-indeed"]),
    "region": st.sampled_from(["us-east-2", "us-east-1", "us-gov-west-1", "cn-north-1", "xx-moon-1"]),
    "account": st.sampled_from(["111122223333", "000000000000"]),
    "tags": st.dictionaries(st.sampled_from(["Name", "team", "kubernetes.io/cluster/a"]), st.just("x")),
    "registry_mirror": st.sampled_from(["docker.io", "111122223333.dkr.ecr.us-west-1.amazonaws.com/a", "a:5000/b"]),
    "components": st.dictionaries(st.sampled_from(["slurm", "x"]), st.just({}), max_size=1),
    "instance_types": st.dictionaries(
        st.sampled_from([NEW_TYPE, "p5.48xlarge", "trn3.48xlarge"]), DECLARED, max_size=2
    ),
    "storage": st.sampled_from([{"lustre": {"a": {}}}, {"efs": {"a": {}}}, {"buckets": {"a": {}}}, {}, GRANTED]),
}
BASE = Path(__file__).parents[2] / "cluster.yaml"


def base() -> dict[str, Any]:
    document, _ = parse(BASE.read_text(encoding="utf-8"), "cluster.yaml")
    assert document is not None and isinstance(document.value, dict)
    return document.value


FILE = base()


@st.composite
def specs(draw: st.DrawFn) -> Cluster:
    """The example file with some fields replaced or left out."""
    data = deepcopy(FILE)
    for _ in range(draw(st.integers(1, 12))):
        pool = draw(st.sampled_from(sorted(data["pools"])))
        table, target = draw(
            st.sampled_from(
                [(POOL, data["pools"][pool])] * 5
                + [(NETWORK, data["network"]), (KUBERNETES, data["kubernetes"]), (ROOT, data)]
            )
        )
        key = draw(st.sampled_from(sorted(table)))
        required = {
            "purpose",
            "instance_type",
            "nodes",
            "training_zone",
            "second_zone",
            "administrators",
            "name",
            "region",
        }
        value = draw(table[key]) if key in required else draw(st.one_of(st.just(DROP), table[key]))
        if value is DROP:
            target.pop(key, None)
        else:
            target[key] = value
        if key == "existing_vpc" and value is not DROP and draw(st.booleans()):
            target.pop("cidr", None)
    if draw(st.integers(0, 9)) == 0:
        del data["pools"][draw(st.sampled_from(sorted(data["pools"])))]
    return Cluster.model_validate(data)


def test_every_field_of_the_sections_is_varied() -> None:
    assert set(POOL) == set(Pool.model_fields)
    assert set(NETWORK) == set(Network.model_fields)
    assert set(KUBERNETES) == set(Kubernetes.model_fields)


@given(specs())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_no_rule_raises_and_what_has_no_error_can_be_planned(spec: Cluster) -> None:
    subject = Subject(spec, facts_for(spec))
    found = [(rule, fault) for rule in all_rules() for fault in rule.check(subject)]
    if not any(rule.severity is Severity.ERROR for rule, _ in found):
        build(spec, subject.facts)


@given(specs())
@settings(max_examples=300, deadline=None, derandomize=True)
def test_errors_that_cannot_be_suppressed_alone_guard_the_planner(spec: Cluster) -> None:
    subject = Subject(spec, facts_for(spec))
    if not any(True for rule in GUARDS for _ in rule.check(subject)):
        build(spec, subject.facts)


def test_every_known_type_is_refused_or_planned() -> None:
    for instance_type in load_instances().names():
        pool = {"purpose": "training", "instance_type": instance_type, "nodes": 1, "placement": "none"}
        for asked in ({}, {"efa": "all"}, {"efa": "none"}):
            spec = Cluster.model_validate({**FILE, "pools": {"system": FILE["pools"]["system"], "train": pool | asked}})
            subject = Subject(spec, facts_for(spec))
            if not any(True for rule in GUARDS for _ in rule.check(subject)):
                build(spec, subject.facts)
