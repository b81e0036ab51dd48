#!/usr/bin/env bash
# Runs a test program against the API server of $KUBECONFIG, with our CRD installed the way users do it. Ends with
# 77, which ctest shows as skipped, when there is no cluster.
set -euo pipefail
if [ -z "${KUBECONFIG:-}" ]; then
  echo "skipped: KUBECONFIG is not set; these tests need a real API server"
  exit 77
fi
if ! command -v kubectl >/dev/null; then
  echo "skipped: kubectl is not in PATH"
  exit 77
fi
crd=$(dirname "${BASH_SOURCE[0]}")/../../deploy/crd/tfjob.yaml
kubectl apply -f "$crd"
kubectl wait --for=condition=Established --timeout=30s crd/tfjobs.kubeflow.org
TENSORFLEET_TEST_KUBECONFIG=$KUBECONFIG exec "$@"
