// Data sets as messages, for checkpoints: the nodes that made one, as a function, with the values
// that they were given. Whoever reads one runs that function.
#pragma once

#include <memory>

#include "runtime/data/dataset.h"

namespace tensorfleet {
class FunctionSource;
}

namespace tensorfleet::data {

class IteratorScope;

inline constexpr char kSavedDatasetType[] = "tensorfleet::SavedDataset";

// Errors: Unimplemented for one that no nodes made; InvalidArgument for functions of one name that
// differ.
StatusOr<VariantData> EncodeDataset(const Dataset& dataset);

// `tensor` with the data sets in its variants encoded, also those inside other variants. Errors:
// as EncodeDataset, and of other variants that cannot leave their process.
StatusOr<Tensor> WithEncodedDatasets(const Tensor& tensor);

// The opposite: makes the data sets anew, by functions that run in `scope` on the device of
// `source`. Errors: InvalidArgument for what EncodeDataset did not write; the functions'.
StatusOr<DatasetRef> DecodeDataset(const VariantData& saved, const FunctionSource& source,
                                   IteratorScope& scope);
StatusOr<Tensor> WithDecodedDatasets(const Tensor& tensor, const FunctionSource& source,
                                     IteratorScope& scope);

// Errors: FailedPrecondition that names an op in the data set's functions whose state a checkpoint
// of its iterators does not hold.
Status CheckNoOutsideState(const Dataset& dataset);

}  // namespace tensorfleet::data
