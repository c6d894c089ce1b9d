"""Faults that people met when they built training clusters, each with its right outcome and its place in the file.

The sources are public issue threads, named per test. What a file cannot even say is answered by construction: it fails
as an unknown key or a refused value before any rule runs.
"""

import pytest

from eks_training.loading import load_bytes
from eks_training.rules.example import EXISTING_VPC, laid_over
from eks_training.rules.kubernetes import unknown_components
from eks_training.spec import Cluster
from tests.rules.reported import accepted, report

pytestmark = pytest.mark.arithmetic


# --- interfaces and addresses -----------------------------------------------------------------------------------------


def test_efa_only_primary_cannot_be_written_terraform_aws_eks_3653() -> None:
    report("pools: {train: {efa: {primary: efa-only}}}").stands_at("CFG005", "efa")


def test_several_interfaces_in_a_public_subnet_are_refused_terraform_aws_eks_3533() -> None:
    found = report(f"{EXISTING_VPC}  egress: internet-gateway\npools: {{train: {{instance_type: p5en.48xlarge}}}}")
    assert "17 interfaces" in found.stands_at("NET021", "internet-gateway").found


def test_more_nodes_than_addresses_are_refused_dstack_1804() -> None:
    small = EXISTING_VPC.replace("10.64.0.0/20", "10.64.0.0/26")
    finding = report(f"{small}pools: {{train: {{nodes: {{min: 0, max: 128}}}}}}").stands_at("ADR001", "10.64.0.0/26")
    assert finding.found == "train: 128 nodes x 1 address = 128; the /26 of the training subnet has 59"
    assert finding.expected == "at least 128 usable addresses"


def test_four_nodes_with_efa_only_fit_a_26_and_pods_are_counted_apart_dstack_1804() -> None:
    small = EXISTING_VPC.replace("10.64.0.0/20", "10.64.0.0/26")
    found = report(f"{small}pools: {{train: {{nodes: 4}}}}")
    assert "ADR001" not in found.rules()
    assert found.stands_at("ADR002", "10.64.0.0/26").found == (
        "train: 4 nodes x 50 addresses = 200; the /26 of the training subnet has 59"
    )


def test_one_card_type_cannot_start_on_karpenter_but_in_a_node_group() -> None:
    pool = "instance_type: hpc6id.32xlarge, nodes: {max: 4}"
    report(f"pools: {{train: {{{pool}, provisioner: karpenter}}}}").stands_at("KAR013", "hpc6id.32xlarge")
    accepted("pools: {train: {instance_type: hpc6id.32xlarge, nodes: 4}}")


def test_efa_on_a_type_without_it_is_refused() -> None:
    report("pools: {train: {instance_type: trn1.2xlarge, efa: all}}").stands_at("EFA001", "all")


def test_the_silent_fall_to_tcp_is_a_warning() -> None:
    report("pools: {train: {efa: none}}").stands_at("EFA002", "none")


def test_p6_b300_with_an_interface_without_efa_is_accepted() -> None:
    accepted("pools: {train: {instance_type: p6-b300.48xlarge}}")


# --- zones ------------------------------------------------------------------------------------------------------------


def test_zones_of_a_training_pool_cannot_be_listed_terraform_aws_eks_3044() -> None:
    report("pools: {train: {azs: [us-east-2a, us-east-2b]}}").stands_at("CFG003", "azs")


def test_placement_group_over_two_zones_is_refused_terraform_aws_eks_3044() -> None:
    report("pools: {system: {placement: cluster}}").stands_at("PLC003", "cluster")


def test_training_subnet_of_another_zone_is_refused_terraform_aws_eks_3044() -> None:
    fragment = EXISTING_VPC.replace("def0, zone: us-east-2b", "def0, zone: us-east-2c")
    assert report(fragment).stands_at("ZON004", "us-east-2c").expected == "us-east-2b"


def test_control_plane_in_one_zone_is_refused_aws_cdk_16862() -> None:
    report("network: {second_zone: us-east-2b}").stands_at("ZON001", "us-east-2b")
    fragment = EXISTING_VPC.replace("def3, zone: us-east-2a", "def3, zone: us-east-2b")
    report(fragment).stands_at("ZON006", "control_plane_subnets")


def test_zone_that_cannot_host_the_control_plane_is_refused_pulumi_eks_1401() -> None:
    fragment = "region: us-east-1\nnetwork: {training_zone: use1-az1, second_zone: use1-az3}"
    assert report(fragment).stands_at("ZON008", "use1-az3").found == "use1-az3"


def test_training_in_such_a_zone_is_accepted_with_a_control_plane_elsewhere_pulumi_eks_1401() -> None:
    fragment = EXISTING_VPC.replace("def3, zone: us-east-2a", "def3, zone: use1-az2")
    fragment = fragment.replace("def2, zone: us-east-2b", "def2, zone: use1-az4").replace("us-east-2b", "use1-az3")
    accepted(f"{fragment}  training_zone: use1-az3\n  second_zone: use1-az4\nregion: us-east-1\n")


def test_letters_where_a_zone_is_refused_are_a_warning_pulumi_eks_1401() -> None:
    found = report("region: us-east-1\nnetwork: {training_zone: us-east-1a, second_zone: us-east-1b}")
    assert found.rules() == ["ZON009"]
    found.stands_at("ZON009", "us-east-1a")


def test_letters_and_zone_ids_are_both_accepted() -> None:
    accepted("network: {training_zone: use2-az2, second_zone: use2-az1}")
    accepted("network: {training_zone: us-east-2c, second_zone: us-east-2a}")


def test_a_zone_of_another_region_is_refused() -> None:
    report("network: {training_zone: us-west-2b}").stands_at("ZON002", "us-west-2b")


def test_a_local_zone_is_refused() -> None:
    report("network: {training_zone: us-east-2-chi-1a}").stands_at("CFG005", "us-east-2-chi-1a")


def test_a_system_pool_over_two_zones_is_accepted() -> None:
    second = "      - {id: subnet-0123456789abcdef4, zone: us-east-2a, cidr: 10.64.18.0/24}\n    control"
    accepted(EXISTING_VPC.replace("    control", second))


def test_a_type_whose_offering_only_the_account_knows_is_accepted_dspace_85() -> None:
    accepted(
        "network: {training_zone: use2-az3, second_zone: use2-az1}\npools: {train: {instance_type: p5en.48xlarge}}"
    )


# --- capacity and placement -------------------------------------------------------------------------------------------

BLOCK = "{type: capacity-block, id: cr-0123456789abcdef0}"
KARPENTER = "provisioner: karpenter, nodes: {max: 4}"
RESERVATION = "{type: reservation, id: cr-0aaaabbbbccccdddd}"


def test_capacity_block_without_id_is_refused_eksctl_8207() -> None:
    finding = report("pools: {train: {capacity: capacity-block, placement: none}}").stands_at(
        "CAP001", "capacity-block"
    )
    assert finding.at == ("pools", "train", "capacity")


def test_capacity_block_with_id_is_accepted_eksctl_8542() -> None:
    accepted(f"pools: {{train: {{instance_type: p5en.48xlarge, nodes: 2, capacity: {BLOCK}, placement: none}}}}")


def test_new_placement_group_for_a_reservation_is_refused_eksctl_7949() -> None:
    train = f"instance_type: p4d.24xlarge, nodes: 16, capacity: {RESERVATION}"
    report(f"pools: {{train: {{{train}, placement: cluster}}}}").stands_at("PLC002", "cluster")


@pytest.mark.parametrize("placement", ["none", "{existing: my-group}", "{existing: pg-0123456789abcdef0}"])
def test_reservation_without_or_in_an_existing_group_is_accepted_eksctl_7949(placement: str) -> None:
    train = f"instance_type: p4d.24xlarge, nodes: 16, capacity: {RESERVATION}"
    accepted(f"pools: {{train: {{{train}, placement: {placement}}}}}")


def test_placement_is_never_implied_eksctl_7949() -> None:
    report("pools: {train: {placement: null}}").stands_at("PLC001", "train")


def test_reservation_by_resource_group_is_accepted_in_a_node_group_only() -> None:
    group = "{type: reservation, resource_group: 'arn:aws:resource-groups:us-east-2:111122223333:group/g'}"
    accepted(f"pools: {{train: {{capacity: {group}, placement: none}}}}")
    fragment = f"{{provisioner: karpenter, nodes: {{max: 4}}, capacity: {group}, placement: none}}"
    report(f"pools: {{train: {fragment}}}").stands_at("CAP006", "arn:aws:resource-groups")


def test_karpenter_takes_reservations_by_id_and_existing_groups_by_name() -> None:
    accepted(f"pools: {{train: {{{KARPENTER}, capacity: {RESERVATION}, placement: {{existing: my-group}}}}}}")
    accepted(f"pools: {{train: {{{KARPENTER}, placement: cluster}}}}")


def test_ultraserver_on_demand_is_refused() -> None:
    fragment = "pools: {train: {instance_type: p6e-gb200.36xlarge, efa: none, placement: none}}"
    report(fragment).stands_at("CAP010", "train")


# --- Karpenter --------------------------------------------------------------------------------------------------------


def test_expiry_before_the_job_ends_is_refused_karpenter_1718() -> None:
    train = f"{KARPENTER}, longest_job: 240h, disruption: {{expire_after: 168h}}"
    finding = report(f"pools: {{train: {{{train}}}}}").stands_at("KAR007", "168h")
    assert finding.found == "nodes expire after 7d; the longest job runs 10d"


def test_expiry_after_shorter_jobs_is_a_warning_karpenter_1718() -> None:
    train = f"{KARPENTER}, longest_job: 24h, disruption: {{expire_after: 168h}}"
    found = report(f"pools: {{train: {{{train}}}}}")
    found.stands_at("KAR008", "168h")
    assert found.rules() == ["KAR008"]


def test_expiry_left_out_or_never_is_accepted_karpenter_1718() -> None:
    accepted(f"pools: {{train: {{{KARPENTER}, longest_job: 240h}}}}")
    accepted(f"pools: {{train: {{{KARPENTER}, longest_job: 240h, disruption: {{expire_after: Never}}}}}}")


def test_grace_shorter_than_the_job_is_refused_karpenter_provider_8526() -> None:
    train = f"{KARPENTER}, longest_job: 72h, disruption: {{termination_grace_period: 4h}}"
    report(f"pools: {{train: {{{train}}}}}").stands_at("KAR009", "4h")


def test_grace_with_checkpoints_inside_it_is_a_warning_karpenter_provider_8526() -> None:
    train = f"{KARPENTER}, longest_job: 72h, checkpoint_interval: 1h, disruption: {{termination_grace_period: 4h}}"
    found = report(f"pools: {{train: {{{train}}}}}")
    found.stands_at("KAR010", "4h")
    assert found.rules() == ["KAR010"]


def test_grace_left_out_is_accepted_karpenter_provider_8526() -> None:
    accepted(f"pools: {{train: {{{KARPENTER}, longest_job: 72h}}}}")


def test_consolidation_of_training_nodes_is_refused_karpenter_provider_5786() -> None:
    asked = "disruption: {consolidation: WhenEmptyOrUnderutilized}"
    report(f"pools: {{train: {{{KARPENTER}, {asked}}}}}").stands_at("KAR011", "WhenEmptyOrUnderutilized")


def test_empty_nodes_removed_at_once_are_refused_karpenter_provider_5786() -> None:
    report(f"pools: {{train: {{{KARPENTER}, disruption: {{consolidate_after: 0s}}}}}}").stands_at("KAR012", "0s")


def test_system_pool_that_may_scale_to_zero_is_refused_volcano_4044() -> None:
    report("pools: {system: {nodes: {min: 0, max: 3}}}").stands_at("POOL004", "nodes")


def test_no_system_pool_is_refused_at_the_pools_volcano_4044() -> None:
    report("pools: {system: null}").stands_at("POOL004", "pools")


# --- node groups, images, versions ------------------------------------------------------------------------------------


def test_image_type_cannot_be_written_nebari_2782_and_aws_cdk_37850() -> None:
    report("pools: {train: {ami_type: AL2_x86_64_GPU}}").stands_at("CFG003", "ami_type")
    report("pools: {train: {image: {family: al2}}}").stands_at("CFG005", "al2")


def test_types_that_the_helper_library_lacks_are_accepted_aws_cdk_36032() -> None:
    accepted("pools: {train: {instance_type: trn1.32xlarge}}")
    accepted("pools: {train: {instance_type: p5.48xlarge}}")


def test_unknown_type_is_refused_with_near_ones_and_a_way_to_declare_it() -> None:
    finding = report("pools: {train: {instance_type: p6b200.48xlarge}}").stands_at("POOL001", "p6b200.48xlarge")
    assert "p6-b200.48xlarge" in finding.expected
    assert "instance_types:\n  p6b200.48xlarge:" in finding.hint


def test_neuron_on_bottlerocket_is_refused() -> None:
    image = "image: {family: bottlerocket}"
    report(f"pools: {{train: {{instance_type: trn1.32xlarge, {image}}}}}").stands_at("IMG003", "bottlerocket")


def test_a_version_that_kubectl_cannot_reach_is_refused_aws_cdk_34759() -> None:
    assert report('kubernetes: {version: "1.31"}').stands_at("KUB001", "'1.31'").expected == "1.34 or 1.35 or 1.36"


@pytest.mark.parametrize("version", ["1.34", "1.35", "1.36"])
def test_versions_within_one_minor_are_accepted_aws_cdk_34759(version: str) -> None:
    accepted(f'kubernetes: {{version: "{version}"}}')


def test_small_root_disk_is_a_warning_unless_local_disks_take_the_images() -> None:
    small = "root_volume: {size_gib: 50}"
    report(f"pools: {{train: {{{small}, local_nvme: none}}}}").stands_at("VOL003", "50")
    accepted(f"pools: {{train: {{{small}}}}}")


def test_components_are_checked_against_the_names_that_the_caller_knows() -> None:
    loaded = load_bytes(laid_over("components: {volcano: {}, slrum: {}}").encode(), "cluster.yaml")
    assert isinstance(loaded.spec, Cluster)
    (fault,) = unknown_components(loaded.spec, {"volcano", "slurm"})
    assert fault.at == ("components", "slrum")
    assert fault.hint == "did you mean `slurm`?"
