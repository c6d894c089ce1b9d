"""A made-up deployment of a Plan: every output that it names, in the form that AWS would give it."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from eks_training.plan import Plan
from eks_training.plan.value import Output

ROOT = Path(__file__).resolve().parent.parent.parent
FORMS = {
    "ClusterSecurityGroupId": "sg-0000000000000c1a5",
    "NodeSecurityGroupId": "sg-00000000000000de5",
    "EfaSecurityGroupId": "sg-00000000000000efa",
    "TrainingSubnetId": "subnet-0000000000000007a",
    "NodeRoleName": "made-NodeRole",
    "NodeInstanceProfile": "made-NodeInstanceProfile",
}

HEAD = """
name: t
region: us-west-2
tags: {team: research}
network: {training_zone: us-west-2a, second_zone: us-west-2b, cidr: 10.0.0.0/16}
kubernetes: {administrators: ["arn:aws:iam::111122223333:role/admin"]}
pools:
  system: {purpose: system, instance_type: m7i.xlarge, nodes: 3}
"""
TRAINING = "purpose: training, provisioner: karpenter, nodes: {max: 4}, placement: none"
NOTEBOOK = "purpose: notebook, provisioner: karpenter, nodes: {max: 4}, placement: none"
POOLS = {
    "static": "purpose: training, provisioner: karpenter, nodes: 4, static_capacity: true, placement: cluster, "
    "instance_type: p5.48xlarge",
    "spot": f"{NOTEBOOK}, instance_type: g5.4xlarge, capacity: spot",
    "reserved": f"{TRAINING}, instance_type: p5en.48xlarge, capacity: {{type: reservation, id: cr-0123456789abcdef0}}",
    "block": f"{TRAINING}, instance_type: p5.48xlarge, capacity: {{type: capacity-block, id: cr-0fedcba9876543210}}",
    "neuron": f"{TRAINING}, instance_type: trn1.32xlarge",
    "b300": f"{TRAINING}, instance_type: p6-b300.48xlarge",
    "arm": f"{NOTEBOOK}, instance_type: g5g.4xlarge",
    "bottlerocket": f"{NOTEBOOK}, instance_type: g5.4xlarge, image: {{family: bottlerocket, release: 1.47.0-6154605b}}",
    "told": f"{TRAINING}, instance_type: g5.48xlarge, local_nvme: none, "
    "root_volume: {size_gib: 800, iops: 6000, throughput_mibps: 500}, "
    "security_groups: [sg-0aaaaaaaaaaaaaaa1, sg-0aaaaaaaaaaaaaaa2], labels: {example.com/tier: gold}, "
    "taints: [{key: example.com/busy, effect: NoExecute}, {key: example.com/for, value: team-a, effect: NoSchedule}], "
    "longest_job: 10h, disruption: {expire_after: 168h, termination_grace_period: 36h15m, "
    "consolidate_after: 45m}",
}
"""One pool of each kind, by name, in YAML."""


def one_pool(name: str, pool: str | None = None) -> str:
    """A cluster with one pool beside the system's."""
    return f"{HEAD}  {name}: {{{POOLS[name] if pool is None else pool}}}\n"


def all_pools() -> str:
    """A cluster with one pool of each kind."""
    return HEAD + "".join(f"  {name}: {{{pool}}}\n" for name, pool in POOLS.items())


def shipped() -> dict[str, str]:
    """The cluster files of the repository that have Karpenter pools, by name."""
    paths = [ROOT / "cluster.yaml", *sorted((ROOT / "examples").glob("*.yaml"))]
    texts = {path.stem: path.read_text(encoding="utf-8") for path in paths}
    return {name: text for name, text in texts.items() if "provisioner: karpenter" in text}


def outputs_of(plan: Plan) -> dict[str, dict[str, str]]:
    """What `cdk deploy --outputs-file` would write."""
    made: dict[str, dict[str, str]] = {}
    for output in _outputs(plan):
        made.setdefault(output.stack, {})[output.key] = FORMS.get(output.key, f"made-{output.key}")
    return made


def _outputs(value: Any) -> Iterator[Output]:
    if isinstance(value, Output):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _outputs(item)
    elif is_dataclass(value):
        for part in fields(value):
            yield from _outputs(getattr(value, part.name))
