// Tensors to and from tensorflow.TensorProto (facts: tf-protocol.md, A.4). Decoding checks
// everything: the proto comes from outside.
#pragma once

#include "absl/strings/string_view.h"
#include "runtime/tensor/tensor.h"

namespace tensorflow {
class ResourceHandleProto;
class TensorProto;
}  // namespace tensorflow

namespace tensorfleet {

// Decodes raw `tensor_content` or the typed value fields; fewer values than elements repeat the
// last one. Errors: InvalidArgument (bad dtype, shape, content length, surplus values, a variant
// that cannot be parsed), ResourceExhausted.
StatusOr<Tensor> TensorFromProto(const tensorflow::TensorProto& proto);

// Writes `tensor_content` (framed for strings, handles and variants), as servers do in replies.
// Errors: Unimplemented for a variant that cannot leave its process.
Status TensorToProto(const Tensor& tensor, tensorflow::TensorProto* proto);

// Writes the typed value fields with a repeated tail left out: the form for constants in a graph.
// Types without value fields of their own fall back to tensor_content.
Status TensorToCompactProto(const Tensor& tensor, tensorflow::TensorProto* proto);

// The framing of strings, handles and variants inside `tensor_content`: N varint32 lengths, then
// the bytes. Plain data is its bytes.
Status EncodeTensorContent(const Tensor& tensor, std::string* content);
StatusOr<Tensor> DecodeTensorContent(DType dtype, const Shape& shape, absl::string_view content);

class ResourceHandle;
void ResourceHandleToProto(const ResourceHandle& handle, tensorflow::ResourceHandleProto* proto);
StatusOr<ResourceHandle> ResourceHandleFromProto(const tensorflow::ResourceHandleProto& proto);

}  // namespace tensorfleet
