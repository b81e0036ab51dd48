#include "runtime/client/gradients/shape_math.h"
#include "runtime/client/gradients/testing/cases.h"
#include "runtime/client/ops.h"

namespace tensorfleet {
namespace {

using Xs = std::vector<Output>;

template <typename Fn>
GradientCase One(const char* op, Shape shape, Fn fn, const char* note = "") {
  return {op, {shape}, [fn](const Scope& s, const Xs& x) { return Xs{fn(s, x[0])}; }, -2, 2, note};
}

Output Column(const Scope& s, std::vector<int64_t> values) {
  return ops::ExpandDims(s, Ints(s, values), Int(s, 1));
}

void AddSlices(std::vector<GradientCase>& cases) {
  cases.push_back(One("Slice", Shape({3, 4}), [](const Scope& s, const Output& x) {
    return ops::Slice(s, x, Ints(s, {1, 1}), Ints(s, {-1, 2}));
  }));
  cases.push_back(One("StridedSlice", Shape({3, 4}), [](const Scope& s, const Output& x) {
    return ops::StridedSlice(s, x, Ints(s, {0, 0, 3}), Ints(s, {0, 2, 0}), Ints(s, {1, 1, -2}),
                             {.end_mask = 4, .new_axis_mask = 1, .shrink_axis_mask = 2});
  }));
  cases.push_back(One("StridedSliceGrad", Shape({2}), [](const Scope& s, const Output& x) {
    return ops::StridedSliceGrad(s, Ints(s, {5}), Ints(s, {1}), Ints(s, {5}), Ints(s, {2}), x);
  }));
}

void AddGathers(std::vector<GradientCase>& cases) {
  cases.push_back(One("Gather", Shape({3, 2}), [](const Scope& s, const Output& x) {
    return ops::Gather(s, x, Ints(s, {2, 0, 2}));
  }));
  struct Axis {
    int axis;
    int64_t batch_dims;
    const char* note;
  };
  for (const Axis& how :
       {Axis{0, 0, "of rows"}, Axis{1, 0, "along axis 1"}, Axis{-1, 0, "along the last axis"},
        Axis{1, 1, "in a batch"}, Axis{2, 1, "along axis 2 in a batch"},
        Axis{-1, -1, "in a batch, counted from the end"}}) {
    cases.push_back(One(
        "GatherV2", Shape({2, 3, 3}),
        [how](const Scope& s, const Output& x) {
          const Output indices = ops::Reshape(s, Ints(s, {1, 0, 1, 1}), Ints(s, {2, 2}));
          return ops::GatherV2(s, x, indices, Int(s, how.axis), {.batch_dims = how.batch_dims});
        },
        how.note));
  }
  cases.push_back(One("GatherNd", Shape({3, 2}), [](const Scope& s, const Output& x) {
    return ops::GatherNd(s, x, ops::Reshape(s, Ints(s, {2, 1, 0, 0, 2, 1}), Ints(s, {3, 2})));
  }));
  cases.push_back(One(
      "GatherNd", Shape({3, 2}),
      [](const Scope& s, const Output& x) {
        return ops::GatherNd(s, x, Column(s, {2, 0, 2}));
      },
      "of rows"));
  cases.push_back(One("ScatterNd", Shape({3, 2}), [](const Scope& s, const Output& x) {
    return ops::ScatterNd(s, Column(s, {3, 0, 3}), x, Ints(s, {4, 2}));
  }));
  const std::vector<Shape> kTensorAndUpdates = {Shape({4, 2}), Shape({2, 2})};
  cases.push_back({"TensorScatterUpdate", kTensorAndUpdates, [](const Scope& s, const Xs& x) {
                     return Xs{ops::TensorScatterUpdate(s, x[0], Column(s, {3, 0}), x[1])};
                   }});
  cases.push_back({"TensorScatterAdd", kTensorAndUpdates, [](const Scope& s, const Xs& x) {
                     return Xs{ops::TensorScatterAdd(s, x[0], Column(s, {3, 3}), x[1])};
                   }});
  cases.push_back({"TensorScatterSub", kTensorAndUpdates, [](const Scope& s, const Xs& x) {
                     return Xs{ops::TensorScatterSub(s, x[0], Column(s, {3, 3}), x[1])};
                   }});
}

// Which elements win is far from changing; equal ones are compared with TensorFlow in ../gradtest.
void AddExtremes(std::vector<GradientCase>& cases) {
  for (const bool max : {false, true}) {
    cases.push_back({max ? "TensorScatterMax" : "TensorScatterMin",
                     {Shape({4, 2}), Shape({3, 2})},
                     [=](const Scope& s, const Xs& x) {
                       const Output rows = Column(s, {3, 0, 3}), updates = Term(s, x[1]) * 1.01;
                       return Xs{max ? ops::TensorScatterMax(s, x[0], rows, updates)
                                     : ops::TensorScatterMin(s, x[0], rows, updates)};
                     }});
  }
}

void AddPartitions(std::vector<GradientCase>& cases) {
  cases.push_back({"DynamicPartition", {Shape({4, 2})}, [](const Scope& s, const Xs& x) {
                     return ops::DynamicPartition(s, x[0], Ints(s, {1, 0, 1, 2}), 3);
                   }});
  for (const bool parallel : {false, true}) {
    cases.push_back({parallel ? "ParallelDynamicStitch" : "DynamicStitch",
                     {Shape({2}), Shape({2, 2})},
                     [=](const Scope& s, const Xs& x) {
                       const Xs indices = {Int(s, 1), Ints(s, {2, 0})};
                       return Xs{parallel ? ops::ParallelDynamicStitch(s, indices, x)
                                          : ops::DynamicStitch(s, indices, x)};
                     }});
  }
  cases.push_back({"TopK", {Shape({2, 4})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::TopK(s, x[0], 2).values};
                   }});
  cases.push_back({"TopKV2", {Shape({2, 2, 4})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::TopKV2(s, x[0], Int(s, 3)).values};
                   }});
}

}  // namespace

std::vector<GradientCase> PickCases() {
  std::vector<GradientCase> cases;
  AddSlices(cases);
  AddGathers(cases);
  AddExtremes(cases);
  AddPartitions(cases);
  return cases;
}

std::vector<GradientCase> NnCases() {
  std::vector<GradientCase> cases;
  cases.push_back({"BiasAdd", {Shape({2, 3}), Shape({3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::BiasAdd(s, x[0], x[1])};
                   }});
  cases.push_back({"BiasAdd",
                   {Shape({2, 3, 2, 2}), Shape({3})},
                   [](const Scope& s, const Xs& x) {
                     return Xs{ops::BiasAdd(s, x[0], x[1], {.data_format = "NCHW"})};
                   },
                   -2,
                   2,
                   "NCHW"});
  cases.push_back({"BiasAddV1", {Shape({2, 3}), Shape({3})}, [](const Scope& s, const Xs& x) {
                     return Xs{ops::BiasAddV1(s, x[0], x[1])};
                   }});
  for (const char* format : {"NHWC", "NCHW"}) {
    cases.push_back(One(
        "BiasAddGrad", Shape({2, 3, 2, 2}),
        [format](const Scope& s, const Output& x) {
          return ops::BiasAddGrad(s, x, {.data_format = format});
        },
        format));
  }
  cases.push_back(One("Softmax", Shape({2, 3}), ops::Softmax));
  cases.push_back(One("LogSoftmax", Shape({2, 3}), ops::LogSoftmax));
  cases.push_back({"SoftmaxCrossEntropyWithLogits",
                   {Shape({2, 3}), Shape({2, 3})},
                   [](const Scope& s, const Xs& x) {
                     // A row of labels is a distribution.
                     return Xs{
                         ops::SoftmaxCrossEntropyWithLogits(s, x[0], ops::Softmax(s, x[1])).loss};
                   }});
  cases.push_back({"SoftmaxCrossEntropyWithLogits",
                   {Shape({2, 3})},
                   [](const Scope& s, const Xs& x) {
                     const Output labels = ops::Softmax(s, ops::ZerosLike(s, x[0]));
                     const auto both = ops::SoftmaxCrossEntropyWithLogits(s, x[0], labels);
                     return Xs{both.loss, both.backprop};
                   },
                   -2,
                   2,
                   "with its backprop"});
  cases.push_back(
      {"SparseSoftmaxCrossEntropyWithLogits", {Shape({2, 3})}, [](const Scope& s, const Xs& x) {
         const auto both = ops::SparseSoftmaxCrossEntropyWithLogits(s, x[0], Ints(s, {2, 0}));
         return Xs{both.loss, both.backprop};
       }});
  return cases;
}

}  // namespace tensorfleet
