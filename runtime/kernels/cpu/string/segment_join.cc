// UnsortedSegmentJoin: the strings of each segment, one after another with a separator. Schema:
// runtime/ops/string/segment_join_ops.cc.
#include <string>
#include <vector>

#include "runtime/kernels/cpu/index_input.h"
#include "runtime/kernels/kernel_registry.h"

namespace tensorfleet::cpu {
namespace {

class UnsortedSegmentJoin final : public Kernel {
 public:
  explicit UnsortedSegmentJoin(KernelInit& init) { init.Get("separator", &separator_); }

  Status Compute(KernelContext& ctx) const override {
    const Tensor &in = ctx.input(0), &ids_in = ctx.input(1), &count = ctx.input(2);
    if (count.rank() != 0) return InvalidArgument("Number of segments must be a scalar");
    const int64_t segments = IntegerAt(count, 0);
    if (segments < 0) {
      return InvalidArgument("Number of segments must be non-negative but got ", segments);
    }
    if (ids_in.rank() == 0) return InvalidArgument("Segment_id cannot have rank 0");
    if (ids_in.rank() > in.rank()) {
      return OutOfRange("Invalid segment_id rank ", ids_in.rank(), " for input with ", in.rank(),
                        " dimension(s)");
    }
    for (int i = 0; i < ids_in.rank(); ++i) {
      if (ids_in.dim(i) != in.dim(i)) {
        return InvalidArgument("Segment dimension is ", ids_in.dim(i), " while input dimension is ",
                               in.dim(i), " in rank ", i);
      }
    }
    std::vector<int64_t> storage;
    const absl::Span<const int64_t> ids = WidenedIntegers(ids_in, &storage);
    for (const int64_t id : ids) {
      if (id < 0 || id >= segments) {
        return InvalidArgument(
            "segment_ids are not allowed to exceed num_segments or to have negative values.");
      }
    }
    const Shape row = in.shape().SubShape(ids_in.rank(), in.rank());
    TFLEET_ASSIGN_OR_RETURN(const Shape shape, row.Stacked(segments));
    TFLEET_ASSIGN_OR_RETURN(Tensor out, ctx.Allocate(DType::kString, shape));
    const int64_t width = row.num_elements();
    const std::string* from = in.values<std::string>().data();
    std::string* const to = out.mutable_values<std::string>().data();
    std::vector<bool> has_begun(segments, false);
    for (const int64_t id : ids) {
      for (int64_t i = 0; i < width; ++i) {
        std::string& joined = to[id * width + i];
        if (has_begun[id]) joined += separator_;
        joined += *from++;
      }
      has_begun[id] = true;
    }
    ctx.SetOutput(0, std::move(out));
    return OkStatus();
  }

 private:
  std::string separator_;
};

}  // namespace

void RegisterSegmentJoinKernels(KernelRegistry& r) {
  r.Add<UnsortedSegmentJoin>("UnsortedSegmentJoin", kCpu);
}

}  // namespace tensorfleet::cpu
