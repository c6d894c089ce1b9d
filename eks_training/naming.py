"""Every name that leaves this project, in one place.

Stack names, construct-independent resource names, label keys and tag keys are a public contract: changing one replaces
resources or strands running nodes.
"""

from __future__ import annotations

import re

LABEL_POOL = "eks-training/pool"
LABEL_PURPOSE = "eks-training/purpose"
LABEL_GPU = "nvidia.com/gpu.present"
"""NVIDIA's own label for nodes with a GPU (NVIDIA/k8s-device-plugin@1b826ac, chart values, affinity)."""
TAG_CLUSTER = "eks-training/cluster"
TAG_POOL = "eks-training/pool"
TAG_DISCOVERY = "karpenter.sh/discovery"

NETWORK = "network"
STORAGE = "storage"
CLUSTER = "cluster"
STORAGE_ACCESS = "storage-access"
KARPENTER = "karpenter"


def stack(cluster: str, part: str) -> str:
    """Name of a CloudFormation stack: at most 128 characters are allowed, cluster and part stay far below."""
    return f"{cluster}-{part}"


def pool_stack(cluster: str, pool: str) -> str:
    """Name of the stack of one managed node group."""
    return stack(cluster, f"pool-{pool}")


def pascal(name: str) -> str:
    """A name as part of a construct id or an output key: ``train-p5`` becomes ``TrainP5``."""
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name) if part)
