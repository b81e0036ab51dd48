// Data sets that others are put together of.
#pragma once

#include "runtime/data/dataset.h"
#include "runtime/data/rows.h"

namespace tensorfleet::data {

// They take what their ops take, checked.
DatasetRef MakeBatch(DatasetRef input, int64_t size, bool drops_remainder);
DatasetRef MakePrefetch(DatasetRef input, int64_t size);
// Errors: Unimplemented for a file system that there is not.
StatusOr<DatasetRef> MakeFileCache(DatasetRef input, const std::string& path);
DatasetRef MakeUnbatch(DatasetRef input);
// These elements, of this type.
DatasetRef MakeElements(ElementType type, std::vector<Element> elements);

}  // namespace tensorfleet::data
