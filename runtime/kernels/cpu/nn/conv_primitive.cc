#include "runtime/kernels/cpu/nn/conv_primitive.h"

#include <array>
#include <limits>
#include <list>

#include "absl/container/flat_hash_map.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::cpu {
namespace {

// All that a primitive depends on.
using Key = std::array<int64_t, 24>;

Key KeyOf(ConvPass pass, const ConvPlan& p) {
  Key key = {static_cast<int64_t>(pass), p.batch, p.in_channels, p.out_channels, p.groups,
             p.is_volume ? 1 : 0};
  int64_t* next = key.data() + 6;
  for (const Window* w : {&p.planes, &p.rows, &p.columns}) {
    for (const int64_t number : {w->input, w->size, w->dilation, w->stride, w->before, w->output}) {
      *next++ = number;
    }
  }
  return key;
}

// The primitives that were used last, and which shapes have none.
class Cache {
 public:
  // False when it does not know.
  bool Find(const Key& key, std::shared_ptr<const ConvPrimitive>* found) {
    MutexLock lock(&mu_);
    const auto at = places_.find(key);
    if (at == places_.end()) return false;
    entries_.splice(entries_.begin(), entries_, at->second);
    *found = at->second->primitive;
    return true;
  }
  void Add(const Key& key, std::shared_ptr<const ConvPrimitive> primitive) {
    MutexLock lock(&mu_);
    if (places_.contains(key)) return;  // another thread was faster
    entries_.push_front({key, std::move(primitive)});
    places_[key] = entries_.begin();
    if (entries_.size() <= kMost) return;
    places_.erase(entries_.back().key);
    entries_.pop_back();
  }

 private:
  // Enough for the training of a network with a hundred different convolutions; generated code
  // takes some ten kilobytes each.
  static constexpr size_t kMost = 512;
  struct Entry {
    Key key;
    std::shared_ptr<const ConvPrimitive> primitive;
  };
  Mutex mu_;
  std::list<Entry> entries_ ABSL_GUARDED_BY(mu_);  // the last used first
  absl::flat_hash_map<Key, std::list<Entry>::iterator> places_ ABSL_GUARDED_BY(mu_);
};

Cache& Primitives() {
  static auto* const cache = new Cache;
  return *cache;
}

// oneDNN counts in int.
bool FitsInt(const ConvPlan& p) {
  const auto fits = [](const Shape& shape) {
    return shape.num_elements() <= std::numeric_limits<int32_t>::max();
  };
  const double filter = static_cast<double>(p.patch()) * p.out_channels;
  return fits(p.image()) && fits(p.output()) && filter <= std::numeric_limits<int32_t>::max();
}

// How far the last position reaches over the edge, which is below 0 where none does.
int64_t After(const Window& w) {
  return w.Start(w.output - 1) + (w.size - 1) * w.dilation + 1 - w.input;
}

using Layout = dnnl_memory_desc_t;

bool ChannelsLast(const Shape& shape, Layout* layout) {
  dnnl_dims_t dims = {shape.dim(0), shape.dim(-1)};
  for (int i = 1; i + 1 < shape.rank(); ++i) dims[1 + i] = shape.dim(i);
  return LoadedOneDnn()->memory_desc_init_by_tag(layout, shape.rank(), dims, dnnl_f32,
                                                 shape.rank() == 5 ? dnnl_ndhwc : dnnl_nhwc) ==
         dnnl_success;
}

// The filter in TensorFlow's order, [(planes,) rows, columns, depth, out_channels], and in one that
// is left to oneDNN.
bool FilterLayouts(const ConvPlan& p, Layout* plain, Layout* open) {
  const OneDnn& onednn = *LoadedOneDnn();
  const int64_t width = p.out_channels / p.groups, o = p.out_channels, d = p.depth();
  dnnl_dims_t dims = {p.groups, width, d};
  dnnl_dims_t strides = {width, 1, o};
  int rank = 3;
  if (p.is_volume) {
    dims[rank] = p.planes.size;
    strides[rank++] = p.rows.size * p.columns.size * d * o;
  }
  dims[rank] = p.rows.size;
  strides[rank++] = p.columns.size * d * o;
  dims[rank] = p.columns.size;
  strides[rank++] = d * o;
  const int skip = p.groups == 1 ? 1 : 0;  // one group is no dimension
  return onednn.memory_desc_init_by_strides(plain, rank - skip, dims + skip, dnnl_f32,
                                            strides + skip) == dnnl_success &&
         onednn.memory_desc_init_by_tag(open, rank - skip, dims + skip, dnnl_f32,
                                        dnnl_format_tag_any) == dnnl_success;
}

}  // namespace

std::shared_ptr<const ConvPrimitive> ConvPrimitive::Find(ConvPass pass, const ConvPlan& plan) {
  if (LoadedOneDnn() == nullptr || !FitsInt(plan)) return nullptr;
  const Key key = KeyOf(pass, plan);
  std::shared_ptr<const ConvPrimitive> primitive;
  if (Primitives().Find(key, &primitive)) return primitive;
  primitive = Make(pass, plan);
  Primitives().Add(key, primitive);
  return primitive;
}

std::shared_ptr<const ConvPrimitive> ConvPrimitive::Make(ConvPass pass, const ConvPlan& p) {
  const OneDnn& onednn = *LoadedOneDnn();
  std::shared_ptr<ConvPrimitive> made(new ConvPrimitive);
  made->pass_ = pass;
  Layout open = {};
  if (!ChannelsLast(p.image(), &made->image_) || !ChannelsLast(p.output(), &made->out_) ||
      !FilterLayouts(p, &made->filter_, &open)) {
    return nullptr;
  }
  dnnl_dims_t strides = {}, between = {}, before = {}, after = {};
  int space = 0;
  for (const Window* window : {&p.planes, &p.rows, &p.columns}) {
    if (window == &p.planes && !p.is_volume) continue;
    strides[space] = window->stride;
    between[space] = window->dilation - 1;
    before[space] = window->before;
    after[space] = After(*window);
    ++space;
  }
  dnnl_convolution_desc_t forward, operation;
  if (onednn.dilated_convolution_forward_desc_init(
          &forward, dnnl_forward_training, dnnl_convolution_direct, &made->image_, &open, nullptr,
          &made->out_, strides, between, before, after) != dnnl_success) {
    return nullptr;
  }
  dnnl_status_t status = dnnl_success;
  if (pass == ConvPass::kImageGradient) {
    status = onednn.dilated_convolution_backward_data_desc_init(&operation, dnnl_convolution_direct,
                                                                &made->image_, &open, &made->out_,
                                                                strides, between, before, after);
  } else if (pass == ConvPass::kFilterGradient) {
    status = onednn.dilated_convolution_backward_weights_desc_init(
        &operation, dnnl_convolution_direct, &made->image_, &open, nullptr, &made->out_, strides,
        between, before, after);
  }
  if (status != dnnl_success) return nullptr;
  made->convolution_ = pass == ConvPass::kForward ? OneDnnPrimitive::Make(&forward)
                                                  : OneDnnPrimitive::Make(&operation, &forward);
  if (made->convolution_ == nullptr) return nullptr;
  const bool gives_filter = pass == ConvPass::kFilterGradient;
  made->packed_ =
      made->convolution_->Layout(gives_filter ? dnnl_query_diff_weights_md : dnnl_query_weights_md);
  made->reorder_ = gives_filter ? OneDnnPrimitive::MakeReorder(made->packed_, made->filter_)
                                : OneDnnPrimitive::MakeReorder(made->filter_, made->packed_);
  return made->reorder_ == nullptr ? nullptr : made;
}

Status ConvPrimitive::Pack(const float* filter, void* packed, void* scratch) const {
  return reorder_->Run({{DNNL_ARG_FROM, &filter_, filter}, {DNNL_ARG_TO, &packed_, packed}},
                       scratch);
}

Status ConvPrimitive::Unpack(const void* packed, float* filter, void* scratch) const {
  return reorder_->Run({{DNNL_ARG_FROM, &packed_, packed}, {DNNL_ARG_TO, &filter_, filter}},
                       scratch);
}

Status ConvPrimitive::Run(const float* image, const void* packed, const float* out,
                          void* scratch) const {
  const bool is_forward = pass_ == ConvPass::kForward;
  return convolution_->Run(
      {{pass_ == ConvPass::kImageGradient ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, &image_, image},
       {pass_ == ConvPass::kFilterGradient ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, &packed_,
        packed},
       {is_forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, &out_, out}},
      scratch);
}

}  // namespace tensorfleet::cpu
