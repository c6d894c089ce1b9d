"""Whatever the rule book lets pass also synthesises: random well-formed clusters, and the unusual corners by hand."""

import random
from collections.abc import Iterator

import pytest

from eks_training.facts.instances import load_instances
from eks_training.loading import load_bytes
from eks_training.pipeline import judged
from tests.synthesis import assembled, of_type

pytestmark = pytest.mark.template

SYSTEM = "system: {purpose: system, instance_type: m7i.xlarge, nodes: 2}"


def random_cluster(seed: int) -> str:
    """A cluster.yaml drawn from the whole instance table and most settings; not always a valid one."""
    dice = random.Random(seed)
    pools = [SYSTEM, *(f"p{number}: {{{', '.join(random_pool(dice))}}}" for number in range(dice.randint(1, 3)))]
    egress = dice.choice(["nat", "endpoints"])
    return "\n".join(
        [
            f"name: r{seed}",
            "region: us-west-2",
            *(['account: "111122223333"'] if dice.random() < 0.5 else []),
            *(["registry_mirror: registry.example.com/mirror"] if egress == "endpoints" else []),
            f"network: {{training_zone: us-west-2a, second_zone: us-west-2b, cidr: 10.0.0.0/16, egress: {egress}}}",
            'kubernetes: {administrators: ["arn:aws:iam::111122223333:role/admin"]}',
            "pools:",
            *(f"  {pool}" for pool in pools),
            *random_storage(dice),
        ]
    )


def random_pool(dice: random.Random) -> Iterator[str]:
    karpenter = dice.random() < 0.4
    purpose = dice.choice(["training", "training", "notebook"])
    capacity = dice.choice(
        [
            "on-demand",
            "spot",
            f"{{type: reservation, id: cr-{dice.randrange(16**17):017x}}}",
            f"{{type: capacity-block, id: cr-{dice.randrange(16**17):017x}}}",
        ]
    )
    yield f"purpose: {purpose}"
    yield f"instance_type: {dice.choice(load_instances().names())}"
    yield f"provisioner: {'karpenter' if karpenter else 'node-group'}"
    yield "nodes: {min: 0, max: 4}" if karpenter else f"nodes: {dice.choice(['2', '{min: 0, max: 3}'])}"
    yield f"capacity: {capacity}"
    yield f"placement: {dice.choice(['none', 'cluster', '{existing: pg-0123456789abcdef0}'])}"


def random_storage(dice: random.Random) -> Iterator[str]:
    yield "storage:"
    yield f"  removal: {dice.choice(['retain', 'delete'])}"
    if dice.random() < 0.6:
        shape = dice.choice(
            [
                "deployment: SCRATCH_2, capacity_gib: 2400",
                "deployment: PERSISTENT_2, capacity_gib: 4800, throughput_mbps_per_tib: 1000, efa: true,"
                " metadata: {mode: AUTOMATIC}",
                "deployment: PERSISTENT_2, storage_class: INTELLIGENT_TIERING, throughput_mbps: 4000,"
                " read_cache: {sizing: NO_CACHE}, metadata: {mode: USER_PROVISIONED, iops: 6000}",
            ]
        )
        yield f"  lustre: {{fast: {{create: {{{shape}}}}}}}"
    if dice.random() < 0.5:
        yield "  efs: {homes: {create: {access_points: {home: {path: /home, uid: 1000, gid: 100}}}}}"
    if dice.random() < 0.7:
        encryption = dice.choice(["s3", "kms"])
        yield f"  buckets: {{b: {{create: {{encryption: {encryption}}}, mount: {dice.choice(['true', 'false'])}}}}}"


def accepted(wanted: int) -> Iterator[str]:
    """The first clusters, by seed, that have no error."""
    found = 0
    for seed in range(10_000):
        text = random_cluster(seed)
        if not judged(load_bytes(text.encode(), "r.yaml")).failed():
            found += 1
            yield text
        if found == wanted:
            return


@pytest.mark.parametrize("text", list(accepted(10)), ids=lambda text: text.split("\n")[0].removeprefix("name: "))
def test_what_the_rules_accept_synthesises(text: str) -> None:
    assembly = assembled(text)
    assert assembly.templates.keys() == set(assembly.plan.stacks)
    for pool in assembly.plan.node_group_pools:
        (launch,) = of_type(assembly.templates[pool.stack], "AWS::EC2::LaunchTemplate").values()
        data = launch["Properties"]["LaunchTemplateData"]
        assert len([item for item in data["NetworkInterfaces"] if item["InterfaceType"] != "interface"]) == (
            pool.efa_interfaces
        )
