"""Settings that would be refused late, ignored or overwritten: each at its place, and the right one beside it."""

import pytest

from eks_training.finding import Severity
from eks_training.loading import load_bytes
from eks_training.pipeline import judged
from eks_training.rules.example import EXISTING_VPC, laid_over
from tests.rules.reported import accepted, report

pytestmark = pytest.mark.arithmetic

BLOCK = "{type: capacity-block, id: cr-0123456789abcdef0}"
KARPENTER = "provisioner: karpenter, nodes: {max: 4}"


def test_fewer_addresses_kept_ready_are_counted() -> None:
    small = EXISTING_VPC.replace("10.64.0.0/20", "10.64.0.0/26") + "pools: {train: {nodes: 4}}\n"
    hint = report(small).only("ADR002").hint
    setting = hint.rpartition("`kubernetes: ")[2].rstrip("`")
    accepted(f"{small}kubernetes: {setting}")
    more = setting.replace('"4"', '"20"')
    assert "train: 4 nodes x 22 addresses = 88" in report(f"{small}kubernetes: {more}").only("ADR002").found
    for ignored in ("3", "{WARM_IP_TARGET: many}", "{WARM_IP_TARGET: '0'}"):
        config = f"{{addon_configuration: {{vpc-cni: {{env: {ignored}}}}}}}"
        assert "x 50 addresses" in report(f"{small}kubernetes: {config}").only("ADR002").found


MIRROR = "network: {egress: endpoints}\nregistry_mirror: "


@pytest.mark.parametrize(
    "mirror",
    [
        "docker.io", "registry-1.docker.io/library", "ghcr.io/org", "quay.io", "nvcr.io/nvidia", "public.ecr.aws/x",
        "registry.k8s.io", "gcr.io/x", "us.gcr.io/x", "111122223333.dkr.ecr.us-west-2.amazonaws.com/mirror",
        "111122223333.dkr-ecr.us-west-2.on.aws/mirror", "111122223333.dkr.ecr.cn-north-1.amazonaws.com.cn",
    ],
)  # fmt: skip
def test_a_mirror_that_endpoints_do_not_reach_is_refused(mirror: str) -> None:
    found = report(f"{MIRROR}{mirror}")
    assert found.rules() == ["NET025"]
    found.stands_at("NET025", mirror)
    accepted(f"registry_mirror: {mirror}")


@pytest.mark.parametrize(
    "mirror",
    [
        "111122223333.dkr.ecr.us-east-2.amazonaws.com/mirror", "111122223333.dkr-ecr.us-east-2.on.aws",
        "registry.internal.example.org:5000/mirror", "mydocker.io",
    ],
)  # fmt: skip
def test_a_mirror_in_the_region_or_in_the_vpc_is_accepted(mirror: str) -> None:
    accepted(f"{MIRROR}{mirror}")


def test_a_letter_that_no_region_has_is_refused() -> None:
    report("network: {training_zone: us-east-2z}").stands_at("ZON002", "us-east-2z")


def test_a_misspelt_region_is_a_warning_with_near_names() -> None:
    found = report("region: us-esat-2\nnetwork: {training_zone: us-esat-2b, second_zone: us-esat-2a}")
    assert found.rules() == ["ZON010"]
    assert found.stands_at("ZON010", "us-esat-2").expected.startswith("us-east-2 or ")


@pytest.mark.parametrize("instance_type", ["p4d.24xlarge", "p5en.48xlarge", "p6-b200.48xlarge", "trn2.48xlarge"])
def test_types_that_are_sold_in_blocks_are_accepted(instance_type: str) -> None:
    accepted(f"pools: {{train: {{instance_type: {instance_type}, capacity: {BLOCK}, placement: none}}}}")


@pytest.mark.parametrize("instance_type", ["g5.48xlarge", "c6in.32xlarge"])
def test_a_block_of_another_type_is_a_warning(instance_type: str) -> None:
    found = report(f"pools: {{train: {{instance_type: {instance_type}, capacity: {BLOCK}, placement: none}}}}")
    assert found.rules() == ["CAP012"]
    found.stands_at("CAP012", "capacity")


def test_the_arn_of_a_placement_group_is_refused() -> None:
    arn = "arn:aws:ec2:us-east-2:111122223333:placement-group/my-group"
    finding = report(f"pools: {{train: {{placement: {{existing: '{arn}'}}}}}}").only("CFG005")
    assert "not its ARN" in finding.hint
    accepted("pools: {train: {placement: {existing: arn-of-mine}}}")


def test_taints_on_all_system_pools_are_refused() -> None:
    taint = "taints: [{key: CriticalAddonsOnly, effect: NoSchedule}]"
    report(f"pools: {{system: {{{taint}}}}}").stands_at("LBL011", "CriticalAddonsOnly")
    other = "{purpose: system, instance_type: m7i.large, nodes: %s}"
    accepted(f"pools: {{system: {{{taint}}}, open: {other % 1}}}")
    found = report(f"pools: {{system: {{{taint}}}, open: {other % '{min: 0, max: 1}'}}}")
    assert found.rules() == ["LBL011"]
    accepted(f"pools: {{system: {{{taint.replace('NoSchedule', 'PreferNoSchedule')}}}}}")


def test_taints_are_not_judged_while_a_system_pool_is_unreadable() -> None:
    taint = "taints: [{key: CriticalAddonsOnly, effect: NoSchedule}]"
    text = laid_over(
        f"pools: {{system: {{{taint}}}, open: {{purpose: system, instance_type: m7i.large, nodes: many}}}}"
    )
    found = judged(load_bytes(text.encode(), "cluster.yaml")).findings
    assert [finding.rule for finding in found] == ["CFG005"]


def test_system_pool_in_a_block_is_refused_and_on_spot_can_be_accepted() -> None:
    report(f"pools: {{system: {{capacity: {BLOCK}}}}}").only("CAP020")
    spot = "pools: {system: {capacity: spot}}\n"
    report(spot).stands_at("CAP011", "spot")
    accepted(f"{spot}suppressions: [{{rule: CAP011, at: pools.system, reason: a throwaway cluster}}]")


EFA_KEYS = ("efa_interfaces", "network_cards", "interfaces_per_card", "efa_cards")


@pytest.mark.parametrize(
    ("pool", "wanted"),
    [("", True), ("efa: all", True), ("efa: none", False), ("purpose: notebook, placement: none", False)],
)
def test_skeleton_of_an_unknown_type_asks_for_what_the_pool_needs(pool: str, wanted: bool) -> None:
    train = f"instance_type: q9.large{', ' if pool else ''}{pool}"
    hint = report(f"pools: {{train: {{{train}}}}}").only("POOL001").hint
    assert [key in hint for key in EFA_KEYS] == [wanted] * 4
    assert "accelerator" in hint and "memory_mib" not in hint


def test_skeleton_of_an_unknown_type_does_not_pass_as_it_is() -> None:
    unknown = "pools: {train: {instance_type: q9.large}}\n"
    pasted = report(unknown).only("POOL001").hint.partition("\n")[2]
    found = report(f"{unknown}{pasted}")
    at = ("instance_types", "q9.large")
    assert {finding.at[2] for finding in found.findings if finding.rule == "CFG005" and finding.at[:2] == at} == {
        "arch", "efa_interfaces", "network_cards", "interfaces_per_card",
    }  # fmt: skip
    filled = pasted.replace("<amd64 or arm64>", "amd64").replace("[<number for each card>]", "[4]")
    found = report(unknown + filled.replace("<number>", "1"))
    assert found.rules() == ["POOL014"]
    found.stands_at("POOL014", "<page and date>")


SSM = "aws ssm get-parameter --region us-east-2 --name /aws/service"


VALUE = "--query Parameter.Value --output text"


@pytest.mark.parametrize(
    ("pool", "name"),
    [
        ("instance_type: p5.48xlarge", "x86_64/nvidia"),
        ("instance_type: m7i.2xlarge, efa: none", "x86_64/standard"),
        ("instance_type: m7g.2xlarge, efa: none", "arm64/standard"),
        ("instance_type: trn1.32xlarge", "x86_64/neuron"),
    ],
)
def test_a_wrong_release_comes_with_the_command_for_this_image(pool: str, name: str) -> None:
    finding = report(f"pools: {{train: {{{pool}, image: {{release: latest}}}}}}").only("IMG001")
    path = f"eks/optimized-ami/1.35/amazon-linux-2023/{name}/recommended/release_version"
    assert finding.hint.endswith(f"{SSM}/{path} {VALUE}")


def test_the_command_is_for_the_version_of_the_cluster() -> None:
    finding = report('kubernetes: {version: "1.36"}\npools: {train: {image: {release: latest}}}').only("IMG001")
    assert "/optimized-ami/1.36/" in finding.hint
    assert finding.expected.startswith("a release such as 1.36.")


def test_bottlerocket_on_karpenter_comes_with_the_command_for_its_variant() -> None:
    image = "local_nvme: none, image: {family: bottlerocket}"
    finding = report(f"pools: {{train: {{{KARPENTER}, {image}}}}}").only("IMG005")
    name = "bottlerocket/aws-k8s-1.35-nvidia/x86_64/latest/image_version"
    assert finding.hint.endswith(f"{SSM}/{name} {VALUE}")


@pytest.mark.parametrize(
    ("pool", "covered"),
    [
        ("purpose: notebook, instance_type: g5.2xlarge, placement: none, local_nvme: none", True),
        ("purpose: notebook, instance_type: m7i.2xlarge, placement: none", True),
        ("purpose: system, instance_type: g5.2xlarge, placement: none", True),
        ("purpose: system, instance_type: m7i.2xlarge, placement: none", False),
    ],
)
def test_small_root_disks_are_seen_wherever_large_images_go(pool: str, covered: bool) -> None:
    found = report(f"pools: {{train: {{{pool}, nodes: 1, root_volume: {{size_gib: 100}}}}}}")
    assert ("VOL003" in found.rules()) is covered


@pytest.mark.parametrize("block", ["10.0.0.0/8", "203.0.113.0/24", "100.64.0.0/10", "224.0.0.0/4"])
def test_reserved_callers_of_the_api_get_one_hint_that_fits_all(block: str) -> None:
    endpoint = f"{{access: public, allowed_cidrs: [{block}]}}"
    finding = report(f"kubernetes: {{endpoint: {endpoint}}}").only("KUB005")
    assert finding.found == f"{block}, which is reserved"
    assert "checkip.amazonaws.com" in finding.hint


def test_configuration_of_an_addon_that_is_not_installed_is_refused() -> None:
    report("kubernetes: {addon_configuration: {aws-efs-csi-driver: {}}}").stands_at("KUB009", "aws-efs-csi-driver")
    accepted("kubernetes: {addon_configuration: {coredns: {replicaCount: 3}}}")


@pytest.mark.parametrize("key", ["Name", "eks-training/pool", "eks-training/anything"])
def test_tags_that_would_be_overwritten_are_refused(key: str) -> None:
    assert report(f"tags: {{{key}: x}}").stands_at("TAG001", key).severity is Severity.ERROR


@pytest.mark.parametrize(
    "key",
    ["kubernetes.io/cluster/a", "karpenter.sh/nodepool", "karpenter.sh/nodeclaim", "karpenter.k8s.aws/ec2nodeclass",
     "'eks:eks-cluster-name'"],
)  # fmt: skip
def test_tags_that_karpenter_refuses_are_refused_where_it_is_used(key: str) -> None:
    accepted(f"tags: {{{key}: x}}")
    found = report(f"tags: {{{key}: x}}\npools: {{train: {{{KARPENTER}}}}}")
    assert found.rules() == ["TAG002"]
    assert found.only("TAG002").at == ("tags", key.strip("'"))


@pytest.mark.parametrize(("pool", "most"), [("", 46), (f"\npools: {{train: {{{KARPENTER}}}}}", 41)])
def test_tags_are_counted_with_those_that_are_added(pool: str, most: int) -> None:
    def tags(count: int) -> str:
        return "tags: {" + ", ".join(f"key-{number}: x" for number in range(count)) + f"}}{pool}"

    accepted(tags(most))
    finding = report(tags(most + 1)).stands_at("TAG003", "tags")
    assert finding.expected == f"at most {most} of yours: 50 in all"
