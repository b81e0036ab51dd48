#include "runtime/session/worker/collective/worker_collectives.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/contain.h"
#include "runtime/collective/meeting.h"
#include "runtime/session/cluster/device_attributes.h"

namespace tensorfleet {
namespace {

using collective::GroupRef;
using collective::InstanceClaim;

constexpr size_t kMaxAgreements = 1 << 18;

// "node: Reduce(Add,Div)", as TensorFlow's members name themselves, ends with how they merge.
std::string MergeOf(absl::string_view name) {
  const size_t begin = name.rfind('(');
  if (begin == absl::string_view::npos || name.back() != ')') return "";
  const absl::string_view merge = name.substr(begin);
  return absl::StrContains(merge, ",") ? std::string(merge) : "";
}

absl::string_view NodeOf(absl::string_view name) { return name.substr(0, name.rfind(": ")); }

StatusOr<InstanceClaim> ClaimFrom(const tensorflow::CompleteInstanceRequest& request) {
  InstanceClaim claim;
  claim.instance_key = request.instance_key();
  claim.kind = static_cast<CollectiveKind>(request.type());
  if (!tensorflow::DataType_IsValid(request.data_type())) {
    return InvalidArgument("a collective instance has the unknown type ", request.data_type());
  }
  claim.dtype = static_cast<DType>(static_cast<int>(request.data_type()));
  TFLEET_ASSIGN_OR_RETURN(claim.shape, Shape::FromProto(request.shape()));
  claim.merge = MergeOf(request.name());
  claim.node = std::string(NodeOf(request.name()));
  claim.device = request.device();
  claim.is_source = request.is_source();
  claim.step_id = request.step_id();
  return claim;
}

}  // namespace

std::string CollectiveLeader(const tensorflow::ConfigProto& config, const ClusterSpec& cluster,
                             const std::string& own_task) {
  const std::string& named = config.experimental().collective_group_leader();
  if (!named.empty()) return named;
  for (const char* job : {"chief", "master", "worker"}) {
    const ClusterSpec::Job* const found = cluster.FindJob(job);
    if (found != nullptr && found->tasks.count(0) > 0) return DeviceName::Task(job, 0).TaskString();
  }
  return own_task;
}

void WorkerCollectives::CompleteGroup(const CallOptions& options,
                                      const tensorflow::CompleteGroupRequest& request,
                                      const DoneWith<tensorflow::CompleteGroupResponse>& done) {
  if (!request.has_device_attributes()) {
    return done(
        Internal("CompleteGroupRequest device_attributes is not set. Make sure you're "
                 "running the same version of Tensorflow on all workers."));
  }
  const StatusOr<DeviceAttributes> device = DeviceAttributesFromProto(request.device_attributes());
  if (!device.ok()) return done(device.status());
  groups_.Join(request.group_key(), request.group_size(), request.device_type(), *device,
               options.cancellation, [done](const StatusOr<GroupRef>& group) {
                 if (!group.ok()) return done(group.status());
                 tensorflow::CompleteGroupResponse response;
                 response.set_group_key((*group)->key);
                 response.set_group_size((*group)->size());
                 response.set_device_type((*group)->device_type);
                 response.set_num_tasks(static_cast<int>((*group)->task_sizes.size()));
                 response.set_communicator_key((*group)->communicator_key);
                 for (const collective::Member& member : (*group)->members) {
                   DeviceAttributesToProto(member.device, response.add_device_attributes());
                 }
                 done(std::move(response));
               });
}

void WorkerCollectives::CompleteInstance(
    const CallOptions& options, const tensorflow::CompleteInstanceRequest& request,
    const DoneWith<tensorflow::CompleteInstanceResponse>& done) {
  const GroupRef group = groups_.Find(request.group_key());
  if (group == nullptr) {
    return done(FailedPrecondition("group ", request.group_key(),
                                   " not found. This normally means the server has restarted"));
  }
  StatusOr<InstanceClaim> claim = ClaimFrom(request);
  if (!claim.ok()) return done(claim.status());
  instances_.Complete(group, *std::move(claim), options.cancellation,
                      [done, key = request.instance_key()](const StatusOr<int>& source) {
                        if (!source.ok()) return done(source.status());
                        tensorflow::CompleteInstanceResponse response;
                        response.set_instance_key(key);
                        response.set_source_rank(*source);
                        done(std::move(response));
                      });
}

StatusOr<GroupRef> WorkerCollectives::Remember(const tensorflow::CompleteGroupResponse& response,
                                               const CollectiveArgs& args) {
  std::vector<DeviceAttributes> devices;
  for (const auto& proto : response.device_attributes()) {
    TFLEET_ASSIGN_OR_RETURN(DeviceAttributes device, DeviceAttributesFromProto(proto));
    devices.push_back(std::move(device));
  }
  TFLEET_ASSIGN_OR_RETURN(GroupRef group,
                          collective::MakeGroup(response.group_key(), response.device_type(),
                                                response.communicator_key(), std::move(devices)));
  if (group->size() != args.group_size || group->RankOf(args.device->name) < 0) {
    return Internal("the leader's collective group ", args.group_key, " has ", group->size(),
                    " members and ",
                    group->RankOf(args.device->name) < 0 ? "does not have " : "has ",
                    args.device->name, ", which wants one of ", args.group_size);
  }
  MutexLock lock(&mu_);
  GroupRef& known = known_[args.group_key];
  // Another device of this task may have been faster.
  if (known == nullptr || known->communicator_key != group->communicator_key ||
      known->RankOf(args.device->name) < 0) {
    known = group;
  }
  return known;
}

void WorkerCollectives::FindGroup(const Place& place, const CollectiveArgs& args,
                                  CancellationManager* calls, DoneWith<GroupRef> done) {
  GroupRef known;
  {
    MutexLock lock(&mu_);
    const auto it = known_.find(args.group_key);
    if (it != known_.end()) known = it->second;
  }
  if (known != nullptr && known->size() == args.group_size) {
    const int rank = known->RankOf(args.device->name);
    if (rank >= 0 && known->members[rank].device.incarnation == args.device->incarnation) {
      return done(std::move(known));
    }
  }
  tensorflow::CompleteGroupRequest request;
  request.set_group_key(args.group_key);
  request.set_group_size(args.group_size);
  request.set_device_type(args.device->type);
  request.set_collective_type(static_cast<int>(args.kind));
  DeviceAttributesToProto(*args.device, request.mutable_device_attributes());
  CallOptions options;
  options.cancellation = calls;
  const auto answered = [this, args, leader = place.leader, leads = place.leads(),
                         done](const StatusOr<tensorflow::CompleteGroupResponse>& response) {
    if (!response.ok()) return done(response.status());
    if (!leads) HeardFrom(leader);
    done(Contained([&] { return Remember(*response, args); }));
  };
  if (place.leads()) return CompleteGroup(options, request, answered);
  const StatusOr<std::shared_ptr<WorkerInterface>> peer = place.session->FindPeer(place.leader);
  if (!peer.ok()) {
    return done(Prefixed("the leader of collectives: ", peer.status()));
  }
  options.wait_for_ready = !HasHeardFrom(place.leader);
  (*peer)->CompleteGroup(options, request, answered);
}

void WorkerCollectives::Agree(const Place& place, const GroupRef& group, const CollectiveArgs& args,
                              CancellationManager* calls, DoneWith<int> done) {
  tensorflow::CompleteInstanceRequest request;
  request.set_name(
      absl::StrCat(args.node, ": ", CollectiveName(args.kind), collective::MergeText(args)));
  request.set_type(static_cast<int>(args.kind));
  request.set_data_type(static_cast<tensorflow::DataType>(static_cast<int>(args.dtype)));
  args.shape.ToProto(request.mutable_shape());
  request.set_group_key(args.group_key);
  request.set_group_size(args.group_size);
  request.set_instance_key(args.instance_key);
  request.set_device_type(args.device->type);
  for (const int offset : args.subdiv_offsets) request.add_subdiv_offset(offset);
  request.set_device(args.device->name);
  request.set_is_source(args.is_source);
  Agreement agreement{absl::StrCat(group->communicator_key, "/", request.name(), "/", args.dtype,
                                   args.shape.ToString(), args.is_source ? "!" : ""),
                      0};
  AgreementKey key(args.group_key, args.instance_key, args.device->name);
  Agreement before;
  {
    MutexLock lock(&mu_);
    const auto it = agreed_.find(key);
    if (it != agreed_.end()) before = it->second;
  }
  if (before.what == agreement.what) return done(before.source_rank);
  // TensorFlow's leaders keep instances of a step apart from those of all steps, which theirs are.
  if (absl::StartsWith(group->communicator_key, collective::kOurKeyPrefix)) {
    request.set_step_id(place.step_id);
  }
  CallOptions options;
  options.cancellation = calls;
  const auto answered =
      [this, key, agreement, size = group->size(),
       is_broadcast = args.kind == CollectiveKind::kBroadcast,
       done](const StatusOr<tensorflow::CompleteInstanceResponse>& response) mutable {
        if (!response.ok()) return done(response.status());
        // TensorFlow's leader gives -1 for what has no source.
        const int source = is_broadcast ? response->source_rank() : 0;
        if (source < 0 || source >= size) {
          return done(Internal("the leader says that member ", source, " of ", size,
                               " has a broadcast's value"));
        }
        agreement.source_rank = source;
        {
          MutexLock lock(&mu_);
          if (agreed_.size() >= kMaxAgreements) agreed_.clear();
          agreed_[key] = agreement;
        }
        done(source);
      };
  if (place.leads()) return CompleteInstance(options, request, answered);
  const StatusOr<std::shared_ptr<WorkerInterface>> peer = place.session->FindPeer(place.leader);
  if (!peer.ok()) return done(peer.status());
  (*peer)->CompleteInstance(options, request, answered);
}

void WorkerCollectives::Forget(const GroupRef& group, bool is_outdated) {
  if (is_outdated) groups_.Drop(*group);
  MutexLock lock(&mu_);
  const auto known = known_.find(group->key);
  if (known == known_.end() || known->second != group) return;
  known_.erase(known);
  absl::erase_if(agreed_,
                 [&](const auto& entry) { return std::get<0>(entry.first) == group->key; });
}

std::string WorkerCollectives::DescribeGroup(const Place& place, int32_t group_key) const {
  return place.leads() ? groups_.Describe(group_key)
                       : absl::StrCat(place.leader, " gathers it and has not answered");
}

bool WorkerCollectives::HasHeardFrom(const std::string& leader) const {
  MutexLock lock(&mu_);
  return heard_from_.contains(leader);
}
void WorkerCollectives::HeardFrom(const std::string& leader) {
  MutexLock lock(&mu_);
  heard_from_.insert(leader);
}

}  // namespace tensorfleet
