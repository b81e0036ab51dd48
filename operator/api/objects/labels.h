// Every label, annotation and fixed name of the TFJob contract, in one place.
#pragma once

namespace tensorfleet::api {

inline constexpr char kApiGroup[] = "kubeflow.org";
inline constexpr char kApiVersion[] = "kubeflow.org/v1";
inline constexpr char kKind[] = "TFJob";
inline constexpr char kPlural[] = "tfjobs";
inline constexpr char kControllerName[] = "tfjob-controller";
inline constexpr char kFrameworkName[] = "tensorflow";

// Pods and services carry these four; they are the service's selector too.
inline constexpr char kOperatorNameLabel[] = "training.kubeflow.org/operator-name";
inline constexpr char kJobNameLabel[] = "training.kubeflow.org/job-name";
inline constexpr char kReplicaTypeLabel[] = "training.kubeflow.org/replica-type";
inline constexpr char kReplicaIndexLabel[] = "training.kubeflow.org/replica-index";
// On pods only: "master" marks the pod whose log and success stand for the job.
inline constexpr char kJobRoleLabel[] = "training.kubeflow.org/job-role";
inline constexpr char kJobRoleMaster[] = "master";

// The container that trains, its port and the variable that tells it of its peers.
inline constexpr char kContainerName[] = "tensorflow";
inline constexpr char kPortName[] = "tfjob-port";
inline constexpr int kPort = 2222;
inline constexpr char kTfConfigEnv[] = "TF_CONFIG";

// Values of spec.runPolicy.managedBy.
inline constexpr char kManagedByUs[] = "kubeflow.org/training-operator";
inline constexpr char kManagedByMultiKueue[] = "kueue.x-k8s.io/multikueue";

// Gang scheduling.
inline constexpr char kVolcano[] = "volcano";
inline constexpr char kVolcanoGroupAnnotation[] = "scheduling.k8s.io/group-name";
inline constexpr char kVolcanoTaskAnnotation[] = "volcano.sh/task-spec";
inline constexpr char kVolcanoApiVersion[] = "scheduling.volcano.sh/v1beta1";
inline constexpr char kPodGroupLabel[] = "scheduling.x-k8s.io/pod-group";
inline constexpr char kSchedulerPluginsApiVersion[] = "scheduling.x-k8s.io/v1alpha1";

// Ours. How often this replica, and the whole job, had been restarted when the pod was made; absent
// means 0, so pods made by training-operator count as first attempts.
inline constexpr char kAttemptAnnotation[] = "tensorfleet.dev/attempt";
inline constexpr char kJobAttemptAnnotation[] = "tensorfleet.dev/job-attempt";
// Written by the chief on its own pod; a JSON object, see operator/docs/fields.md.
inline constexpr char kProgressAnnotation[] = "tensorfleet.dev/progress";

}  // namespace tensorfleet::api
