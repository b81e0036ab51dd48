#include "runtime/pjrt/cluster_kernel.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/log.h"
#include "runtime/pjrt/device_buffer.h"
#include "runtime/pjrt/device_metrics.h"
#include "runtime/pjrt/host_cluster.h"
#include "runtime/pjrt/lower/lower_cluster.h"
#include "runtime/tensor/resource_handle.h"

namespace tensorfleet::pjrt {
namespace {

// A cluster that was lowered and compiled for one set of shapes.
struct ClusterProgram {
  LoweredCluster lowered;
  std::shared_ptr<const Executable> executable;  // null when nothing has to be computed
  bool runs_on_host = false;
};

void AppendTo(std::string* key, const void* data, size_t size) {
  key->append(static_cast<const char*>(data), size);
}

void AppendShape(std::string* key, DType dtype, const Shape& shape) {
  key->push_back(static_cast<char>(dtype));
  key->push_back(static_cast<char>(shape.rank()));
  AppendTo(key, shape.dims().data(), shape.rank() * sizeof(int64_t));
}

class ClusterKernel final : public AsyncKernel {
 public:
  ClusterKernel(KernelInit& init, PjrtDevice* device) : device_(*device) {
    std::string body;
    init.Get("body", &body);
    if (!init.status().ok()) return;
    const Node& node = init.node();
    name_ = node.name();
    StatusOr<std::unique_ptr<ClusterBody>> parsed =
        ClusterBody::Parse(body, node.input_types(), node.output_types(), &device->ops());
    if (!parsed.ok()) {
      init.Fail(parsed.status());
      return;
    }
    body_ = *std::move(parsed);
    host_ = std::make_unique<HostCluster>(body_.get(), init);
  }

  void ComputeAsync(KernelContext& ctx, Done done) const override;

  PjrtDevice& device() const { return device_; }
  const ClusterBody& body() const { return *body_; }
  const std::string& name() const { return name_; }
  const HostCluster& host() const { return *host_; }

  std::shared_ptr<const ClusterProgram> Find(const std::string& key) const {
    MutexLock lock(&mu_);
    const auto it = programs_.find(key);
    return it == programs_.end() ? nullptr : it->second;
  }
  void Keep(const std::string& key, std::shared_ptr<const ClusterProgram> program) const {
    constexpr size_t kMaxShapes = 256;
    MutexLock lock(&mu_);
    if (programs_.size() >= kMaxShapes) programs_.clear();
    programs_[key] = std::move(program);
  }
  // Arguments whose values the program depends on, as far as known.
  std::vector<int> by_value() const {
    MutexLock lock(&mu_);
    return by_value_;
  }
  // False when they were all known.
  bool AddByValue(const std::vector<int>& arguments) const {
    MutexLock lock(&mu_);
    const size_t before = by_value_.size();
    by_value_.insert(by_value_.end(), arguments.begin(), arguments.end());
    std::sort(by_value_.begin(), by_value_.end());
    by_value_.erase(std::unique(by_value_.begin(), by_value_.end()), by_value_.end());
    return by_value_.size() > before;
  }
  void WarnOnce(const Status& why) const {
    {
      MutexLock lock(&mu_);
      if (std::exchange(has_warned_, true)) return;
    }
    LogWarning("A cluster runs on the host: it cannot be compiled",
               {{"cluster", name_}, {"device", device_.name()}, {"why", why.message()}});
  }

 private:
  PjrtDevice& device_;
  std::string name_;
  std::unique_ptr<ClusterBody> body_;
  std::unique_ptr<HostCluster> host_;
  mutable Mutex mu_;
  mutable absl::flat_hash_map<std::string, std::shared_ptr<const ClusterProgram>> programs_
      ABSL_GUARDED_BY(mu_);
  mutable std::vector<int> by_value_ ABSL_GUARDED_BY(mu_);
  mutable bool has_warned_ ABSL_GUARDED_BY(mu_) = false;
};

// One run of a cluster. Lives until `done`.
class ClusterRun : public std::enable_shared_from_this<ClusterRun> {
 public:
  ClusterRun(const ClusterKernel* kernel, KernelContext& ctx, AsyncKernel::Done done)
      : kernel_(*kernel), ctx_(ctx), done_(std::move(done)), slots_(ctx.num_inputs(), -1) {}

  void Start() {
    if (const Status status = FindVariables(); !status.ok()) return RunOnHost(status);
    if (variables_.empty()) return Prepare();
    for (const ResourceRef<Variable>& variable : variables_) locked_.push_back(variable.get());
    has_locks_ = true;
    kernel_.device().locks().Acquire(&locked_, [self = shared_from_this()] { self->Prepare(); });
  }

 private:
  // Two arguments may name one variable: they share a slot.
  Status FindVariables() {
    for (int i = 0; i < ctx_.num_inputs(); ++i) {
      const DType type = ctx_.node().input_type(i);
      ResourceRef<Variable> variable;
      if (IsRef(type)) {
        variable = ctx_.ref_input_ptr(i);
      } else if (type == DType::kResource) {
        const ResourceHandle* const handle = HandleFromInput(ctx_, i);
        if (handle == nullptr) return InvalidArgument("input ", i, " is no scalar handle");
        TFLEET_RETURN_IF_ERROR(CheckHandleDevice(ctx_, *handle));
        TFLEET_ASSIGN_OR_RETURN(variable, FindOrMake(*handle, i));
      } else {
        continue;
      }
      if (!variable) return InvalidArgument("input ", i, " is no reference");
      int slot = 0;
      while (slot < static_cast<int>(variables_.size()) &&
             variables_[slot].get() != variable.get()) {
        ++slot;
      }
      slots_[i] = slot;
      if (slot == static_cast<int>(variables_.size())) variables_.push_back(std::move(variable));
    }
    return OkStatus();
  }

  StatusOr<ResourceRef<Variable>> FindOrMake(const ResourceHandle& handle, int i) {
    const DType dtype = kernel_.body().AssignedType(i);
    if (dtype == DType::kInvalid) {
      return ctx_.step().resources->Find<Variable>(handle.container, handle.name);
    }
    return ctx_.step().resources->FindOrMake<Variable>(
        handle.container, handle.name, [&]() -> StatusOr<ResourceRef<Variable>> {
          return ResourceRef<Variable>::Adopt(new Variable(dtype));
        });
  }

  // Values that the program depends on have to be on the host.
  void Prepare() {
    by_value_ = kernel_.by_value();
    std::vector<int> copies;
    for (const int i : by_value_) {
      if (DeviceBufferOf(ctx_.input(i)) != nullptr) copies.push_back(i);
    }
    host_values_.resize(ctx_.num_inputs());
    for (const int i : by_value_) {
      if (DeviceBufferOf(ctx_.input(i)) == nullptr) host_values_[i] = ctx_.input(i);
    }
    if (copies.empty()) return Choose();
    pending_ = static_cast<int>(copies.size());
    for (const int i : copies) {
      kernel_.device().client().ToHost(ctx_.input(i),
                                       [self = shared_from_this(), i](StatusOr<Tensor> copy) {
                                         if (copy.ok()) {
                                           self->host_values_[i] = *std::move(copy);
                                         } else {
                                           MutexLock lock(&self->mu_);
                                           self->copy_status_ = copy.status();
                                         }
                                         if (self->pending_.fetch_sub(1) != 1) return;
                                         self->ctx_.pool().Schedule([self] { self->Choose(); });
                                       });
    }
  }

  void Choose() {
    {
      MutexLock lock(&mu_);
      if (!copy_status_.ok()) return Finish(copy_status_);
    }
    key_ = MakeKey();
    program_ = kernel_.Find(key_);
    if (program_ != nullptr) return RunProgram();
    ctx_.pool().Schedule([self = shared_from_this()] { self->Lower(); });
  }

  std::string MakeKey() const {
    std::string key;
    for (int i = 0; i < ctx_.num_inputs(); ++i) {
      if (slots_[i] >= 0) {
        key.push_back('v');
        key.push_back(static_cast<char>(slots_[i]));
        key.push_back(static_cast<char>(slots_[i] >> 8));
        continue;
      }
      const Tensor& value = ctx_.input(i);
      AppendShape(&key, value.dtype(), value.shape());
      const Tensor& known = host_values_[i];
      key.push_back(known.is_valid() ? '=' : '.');
      if (known.is_valid()) AppendTo(&key, known.raw(), known.bytes());
    }
    for (const ResourceRef<Variable>& variable : variables_) {
      const Tensor value = variable->Read();
      if (value.is_valid()) {
        AppendShape(&key, value.dtype(), value.shape());
      } else {
        key.push_back('?');
      }
    }
    return key;
  }

  void Lower() {
    ClusterRequest request;
    request.body = &kernel_.body();
    request.precision = kernel_.device().client().spec().precision;
    request.kernels = &kernel_.device().kernels();
    request.device = ctx_.step().device;
    for (int i = 0; i < ctx_.num_inputs(); ++i) {
      ClusterArgument& argument = request.arguments.emplace_back();
      argument.variable = slots_[i];
      if (slots_[i] >= 0) continue;
      argument.dtype = ctx_.input(i).dtype();
      argument.shape = ctx_.input(i).shape();
      argument.value = host_values_[i];
    }
    for (const ResourceRef<Variable>& variable : variables_) {
      const Tensor value = variable->Read();
      VariableState& state = request.variables.emplace_back();
      state.dtype = variable->dtype();
      state.is_initialized = value.is_valid();
      if (value.is_valid()) state.shape = value.shape();
      state.declared = variable->declared_shape();
      state.name = kernel_.name();
    }
    std::vector<int> needed;
    StatusOr<LoweredCluster> lowered = LowerCluster(std::move(request), &needed);
    if (!lowered.ok() && kernel_.AddByValue(needed)) return Prepare();
    if (!lowered.ok()) return GiveUp(lowered.status());
    auto program = std::make_shared<ClusterProgram>();
    program->lowered = *std::move(lowered);
    if (program->lowered.module.empty()) return Use(std::move(program));
    const std::string module = std::exchange(program->lowered.module, "");
    kernel_.device().cache().Get(module, Described(), &ctx_.pool(),
                                 [self = shared_from_this(),
                                  program](StatusOr<std::shared_ptr<const Executable>> executable) {
                                   if (!executable.ok()) return self->GiveUp(executable.status());
                                   program->executable = *std::move(executable);
                                   self->Use(program);
                                 });
  }

  // For the log: the cluster and the shapes that it is compiled for.
  std::string Described() const {
    constexpr size_t kMaxText = 300;
    std::string text = absl::StrCat(kernel_.name(), " for");
    for (int i = 0; i < ctx_.num_inputs() && text.size() < kMaxText; ++i) {
      if (slots_[i] >= 0) continue;
      const Tensor& value = ctx_.input(i);
      absl::StrAppend(&text, " ", DTypeName(value.dtype()), value.shape().ToString());
    }
    for (const ResourceRef<Variable>& variable : variables_) {
      if (text.size() >= kMaxText) break;
      const Tensor value = variable->Read();
      if (value.is_valid()) absl::StrAppend(&text, " variable", value.shape().ToString());
    }
    return text;
  }

  // For these shapes, for good, unless it is only for want of a variable's value.
  void GiveUp(const Status& why) {
    if (absl::IsFailedPrecondition(why)) return RunOnHost(why);
    kernel_.WarnOnce(why);
    auto program = std::make_shared<ClusterProgram>();
    program->runs_on_host = true;
    Use(std::move(program));
  }

  void Use(std::shared_ptr<const ClusterProgram> program) {
    kernel_.Keep(key_, program);
    program_ = std::move(program);
    RunProgram();
  }

  void RunProgram() {
    if (program_->runs_on_host) return RunOnHost(OkStatus());
    Launch();
  }

  void Launch() {
    const LoweredCluster& lowered = program_->lowered;
    std::vector<Tensor> results;
    if (program_->executable != nullptr) {
      const bool waits = !lowered.written_variables.empty();
      pending_complete_ += (waits ? 1 : 0) + (lowered.has_fault ? 1 : 0);
      StatusOr<std::vector<Tensor>> started = StartLocked(waits);
      if (!started.ok()) return Finish(started.status());
      results = *std::move(started);
    }
    HandOut(results);
    if (lowered.has_fault) {
      LookForFault(results.back());
    } else {
      ReleaseLocks();
    }
    results.clear();
    if (pending_complete_.fetch_sub(1) == 1) Settle();
  }

  void HandOut(absl::Span<const Tensor> results) {
    const LoweredCluster& lowered = program_->lowered;
    for (size_t i = 0; i < lowered.results.size(); ++i) {
      const LoweredCluster::Result& result = lowered.results[i];
      switch (result.from) {
        case LoweredCluster::Result::From::kProgram:
          ctx_.SetOutput(static_cast<int>(i), results[result.index]);
          break;
        case LoweredCluster::Result::From::kConstant:
          ctx_.SetOutput(static_cast<int>(i), result.constant);
          break;
        case LoweredCluster::Result::From::kArgument:
          ctx_.SetOutput(static_cast<int>(i), ctx_.input(result.index));
          break;
      }
    }
  }

  // Nobody sees the results before this is known; the locks are held until then.
  void LookForFault(const Tensor& flag) {
    kernel_.device().client().ToHost(flag, [self = shared_from_this()](StatusOr<Tensor> copy) {
      if (copy.ok()) self->is_refused_ = copy->scalar<bool>();
      self->Completed(copy.status());
    });
  }

  // All variables are locked while their values are taken and replaced, so that whoever reads one
  // meanwhile waits instead of finding nothing.
  StatusOr<std::vector<Tensor>> StartLocked(bool waits) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    for (Variable* variable : locked_) variable->mu().Lock();
    StatusOr<std::vector<Tensor>> results = StartWithVariables(waits);
    for (Variable* variable : locked_) variable->mu().Unlock();
    garbage_.clear();
    return results;
  }

  StatusOr<std::vector<Tensor>> StartWithVariables(bool waits) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const LoweredCluster& lowered = program_->lowered;
    const Client& client = kernel_.device().client();
    const int device = kernel_.device().index();
    std::vector<bool> is_written(variables_.size());
    for (const int v : lowered.written_variables) is_written[v] = true;
    std::vector<Tensor> arguments(lowered.parameters.size());
    std::vector<int64_t> keep;
    Status status;
    for (size_t p = 0; p < arguments.size() && status.ok(); ++p) {
      const auto& [is_variable, index] = lowered.parameters[p];
      StatusOr<Tensor> there;
      if (!is_variable) {
        there = OnDevice(ctx_.input(index), client, device);
      } else {
        Tensor& value = variables_[index]->mutable_tensor();
        there = OnDevice(value, client, device);
        // What is only read stays where it is now.
        if (there.ok() && !is_written[index] && !there->SharesBufferWith(value)) {
          garbage_.push_back(std::exchange(value, *there));
        }
        if (there.ok() && is_written[index]) {
          KeepOld(index, *there);
          garbage_.push_back(std::exchange(value, Tensor()));
          if (garbage_.back().SharesBufferWith(*there)) garbage_.back().Clear();
          taken_.push_back(index);
        }
      }
      status = there.status();
      if (!status.ok()) break;
      arguments[p] = *std::move(there);
      if (is_variable && is_written[index]) {
        const bool is_ours = arguments[p].buffer_is_unique();
        ++(is_ours ? Counts().donated : Counts().doubled);
        if (!is_ours) keep.push_back(static_cast<int64_t>(p));
      }
    }
    StatusOr<std::vector<Tensor>> results = std::vector<Tensor>();
    if (!status.ok()) results = status;
    if (status.ok()) {
      Client::Launch launch;
      launch.device = device;
      launch.arguments = arguments;
      launch.keep = keep;
      launch.results = lowered.program_results;
      if (waits) {
        launch.on_complete = [self = shared_from_this()](Status ended) {
          self->Completed(std::move(ended));
        };
      }
      results = client.Start(*program_->executable, std::move(launch));
    }
    if (!results.ok()) {
      for (size_t p = 0; p < arguments.size(); ++p) {
        const auto& [is_variable, index] = lowered.parameters[p];
        const bool was_taken = std::find(taken_.begin(), taken_.end(), index) != taken_.end();
        if (is_variable && was_taken) variables_[index]->mutable_tensor() = arguments[p];
      }
      return results;
    }
    ++Counts().launches;
    const size_t first =
        results->size() - lowered.written_variables.size() - (lowered.has_fault ? 1 : 0);
    for (size_t i = 0; i < lowered.written_variables.size(); ++i) {
      const int variable = lowered.written_variables[i];
      Tensor& value = variables_[variable]->mutable_tensor();
      if (value.is_valid()) {
        KeepOld(variable, value);
        garbage_.push_back(std::move(value));
      }
      value = std::move((*results)[first + i]);
      stored_.push_back(value.buffer().get());
    }
    return results;
  }

  static StatusOr<Tensor> OnDevice(const Tensor& value, const Client& client, int device) {
    if (DeviceBufferOf(value) == nullptr) ++Counts().copies_to_device;
    return client.ToDevice(value, device);
  }

  // Where the program itself does not leave the old value when it is refused.
  void KeepOld(int variable, const Tensor& value) {
    const std::vector<int>& replaced = program_->lowered.replaced_variables;
    if (std::find(replaced.begin(), replaced.end(), variable) == replaced.end()) return;
    old_values_.resize(variables_.size());
    old_values_[variable] = value;
  }

  void PutBack() {
    old_values_.resize(variables_.size());
    const std::vector<int>& written = program_->lowered.written_variables;
    const std::vector<int>& replaced = program_->lowered.replaced_variables;
    for (size_t i = 0; i < written.size(); ++i) {
      if (std::find(replaced.begin(), replaced.end(), written[i]) == replaced.end()) continue;
      MutexLock lock(&variables_[written[i]]->mu());
      Tensor& value = variables_[written[i]]->mutable_tensor();
      if (value.buffer().get() == stored_[i]) std::swap(value, old_values_[written[i]]);
    }
    old_values_.clear();
  }

  // From the plug-in, or from within Start.
  void Completed(Status status) {
    {
      MutexLock lock(&mu_);
      completion_.Update(status);
    }
    if (pending_complete_.fetch_sub(1) != 1) return;
    ctx_.pool().Schedule([self = shared_from_this()] { self->Settle(); });
  }

  void Settle() {
    const Status status = Completion();
    if (!status.ok() || !is_refused_) return Finish(status);
    PutBack();
    ++Counts().refused;
    RunOnHost(OkStatus());
  }

  // A launch that failed on the device has used up the old values and made no new ones.
  Status Completion() {
    Status status;
    {
      MutexLock lock(&mu_);
      status = completion_;
    }
    if (status.ok()) return status;
    const std::vector<int>& written = program_->lowered.written_variables;
    for (size_t i = 0; i < written.size() && i < stored_.size(); ++i) {
      Tensor lost;  // released outside the lock
      MutexLock lock(&variables_[written[i]]->mu());
      Tensor& value = variables_[written[i]]->mutable_tensor();
      if (value.buffer().get() == stored_[i]) std::swap(value, lost);
    }
    return Suffixed(status, written.empty()
                                ? ""
                                : absl::StrCat(" (the ", written.size(), " variables that ",
                                               kernel_.name(), " updates hold no value now)"));
  }

  void RunOnHost(const Status& why) {
    ReleaseLocks();
    ++Counts().host_runs;
    kernel_.host().Run(ctx_, [self = shared_from_this()](Status status) {
      AsyncKernel::Done done = std::move(self->done_);
      done(std::move(status));
    });
  }

  void ReleaseLocks() {
    if (std::exchange(has_locks_, false)) kernel_.device().locks().Release(locked_);
  }

  void Finish(Status status) {
    ReleaseLocks();
    AsyncKernel::Done done = std::move(done_);
    done(std::move(status));
  }

  const ClusterKernel& kernel_;
  KernelContext& ctx_;
  AsyncKernel::Done done_;
  std::vector<int> slots_;  // by input: index into variables_, or -1
  std::vector<ResourceRef<Variable>> variables_;
  std::vector<Variable*> locked_;  // in the order of locks
  bool has_locks_ = false;
  std::vector<int> by_value_;
  std::vector<Tensor> host_values_;  // by input
  std::atomic<int> pending_{0};
  std::string key_;
  std::shared_ptr<const ClusterProgram> program_;
  std::vector<int> taken_;                // variables whose value the launch has
  std::vector<Tensor> garbage_;           // released outside the locks
  std::atomic<int> pending_complete_{1};  // Launch itself, the device, and the look for a fault
  bool is_refused_ = false;
  std::vector<Tensor> old_values_;  // by variable; see KeepOld
  Mutex mu_;
  Status copy_status_ ABSL_GUARDED_BY(mu_);
  Status completion_ ABSL_GUARDED_BY(mu_);
  std::vector<const Buffer*> stored_;  // new values of written_variables; only to compare with
};

void ClusterKernel::ComputeAsync(KernelContext& ctx, Done done) const {
  std::make_shared<ClusterRun>(this, ctx, std::move(done))->Start();
}

}  // namespace

std::unique_ptr<Kernel> MakeClusterKernel(KernelInit& init, PjrtDevice* device) {
  return std::make_unique<ClusterKernel>(init, device);
}

}  // namespace tensorfleet::pjrt
