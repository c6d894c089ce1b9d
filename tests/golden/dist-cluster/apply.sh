#!/usr/bin/env bash
# Applies this folder, in order.  With --dry-run it only asks the cluster whether it would accept the objects, which it
# can tell only where their definitions are installed already.  Needs helm, kubectl and access to the cluster.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
helm_flags=(--wait --timeout 10m)
kubectl_flags=()
case "${1:-}" in
  "") ;;
  --dry-run) helm_flags=(--dry-run=server) kubectl_flags=(--dry-run=server) ;;
  *) echo "usage: $0 [--dry-run]" >&2; exit 2 ;;
esac

echo 'wave 0'
helm upgrade --install aws-efa-k8s-device-plugin aws-efa-k8s-device-plugin --repo https://aws.github.io/eks-charts --version v0.5.30 --namespace kube-system --values values/aws-efa-k8s-device-plugin.yaml "${helm_flags[@]}"
helm upgrade --install karpenter-crd oci://public.ecr.aws/karpenter/karpenter-crd --version 1.14.1 --namespace kube-system --values values/karpenter-crd.yaml "${helm_flags[@]}"
helm upgrade --install nvidia-device-plugin nvidia-device-plugin --repo https://nvidia.github.io/k8s-device-plugin --version 0.20.0 --namespace kube-system --values values/nvidia-device-plugin.yaml "${helm_flags[@]}"

echo 'wave 1'
helm upgrade --install karpenter oci://public.ecr.aws/karpenter/karpenter --version 1.14.1 --namespace kube-system --values values/karpenter.yaml "${helm_flags[@]}"

echo 'wave 2'
kubectl apply --server-side "${kubectl_flags[@]}" -f manifests/02-karpenter-pools.yaml
