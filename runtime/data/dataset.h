// Data sets: immutable descriptions of sequences of elements. The ops of tf.data make them; they
// travel as variants and never leave their process. Iterators (iterator.h) run through them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/tensor/tensor.h"
#include "runtime/tensor/variant.h"

namespace tensorflow {
class NodeDef;
namespace data {
class Options;
}
}  // namespace tensorflow

namespace tensorfleet {
class FunctionSource;
}

namespace tensorfleet::data {

class Dataset;
class Iterator;
class IteratorScope;

using DatasetRef = std::shared_ptr<const Dataset>;
using IteratorPtr = std::unique_ptr<Iterator>;
// The components of one element.
using Element = std::vector<Tensor>;

// What the components of every element are. Types are binding: whoever makes an element sees to
// it. Shapes are what the graph says.
struct ElementType {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;  // as many

  size_t size() const { return types.size(); }
};

// How many elements there are, where it is not a number. TensorFlow's values.
inline constexpr int64_t kInfinite = -1;
inline constexpr int64_t kUnknownCardinality = -2;
// "As many as are worth while", where a number is asked for.
inline constexpr int64_t kAutotune = -1;

// How a data set was made, to be made again elsewhere: a node, and what it was given.
struct Recipe {
  std::shared_ptr<const tensorflow::NodeDef> node;  // with all attributes
  std::string output;                               // the name of its output
  std::vector<Tensor> inputs;
  std::shared_ptr<const FunctionSource> functions;  // that the node names; null without
};

class Dataset : public VariantValue, public std::enable_shared_from_this<Dataset> {
 public:
  // Data sets on data sets, and the iterators of those that functions make inside others, call one
  // another: deeper ones are refused.
  static constexpr int kMaxDepth = 1000;

  Dataset(ElementType type, std::vector<DatasetRef> inputs);

  const ElementType& type() const { return type_; }
  const std::vector<DatasetRef>& inputs() const { return inputs_; }
  const DatasetRef& input() const { return inputs_[0]; }
  int depth() const { return depth_; }

  virtual int64_t Cardinality() const { return kUnknownCardinality; }
  // What tf.data.Options say, those of the inputs included; merged in the order of the inputs.
  virtual void MergeOptions(tensorflow::data::Options* options) const;
  // A new run through it, from the beginning. Errors: ResourceExhausted for one nested too deeply.
  StatusOr<IteratorPtr> NewIterator(IteratorScope& scope, int depth) const;

  // Errors: Unimplemented for one that no node made.
  virtual StatusOr<Recipe> MakeRecipe() const;
  // For whoever has made it, before others know it.
  void SetRecipe(Recipe recipe) const {
    recipe_ = std::make_unique<const Recipe>(std::move(recipe));
  }

  std::string TypeName() const final { return "tensorflow::DatasetVariantWrapper"; }
  // Errors: Unimplemented.
  StatusOr<VariantData> Encode() const final;

 protected:
  // `depth` is the new iterator's own; it makes those inside it with depth + 1.
  virtual StatusOr<IteratorPtr> MakeIterator(IteratorScope& scope, int depth) const = 0;

 private:
  const ElementType type_;
  const std::vector<DatasetRef> inputs_;
  const int depth_;
  mutable std::unique_ptr<const Recipe> recipe_;
};

// `dataset` itself, kept for as long as an iterator needs it.
template <typename D>
std::shared_ptr<const D> Kept(const D* dataset) {
  return std::static_pointer_cast<const D>(dataset->shared_from_this());
}

// The data set in a scalar variant. Errors: InvalidArgument.
StatusOr<DatasetRef> DatasetIn(const Tensor& tensor);
Tensor DatasetTensor(DatasetRef dataset);

// Whether `element` is what `type` says, but for shapes. Errors: InvalidArgument, in TensorFlow's
// words.
Status CheckTypes(const Element& element, const std::vector<DType>& types);
// Whether elements of `have` can be taken for elements of `want`. Errors: as above.
Status CheckCompatible(const ElementType& want, const ElementType& have);

// a * b and the like for cardinalities.
int64_t TimesCardinality(int64_t n, int64_t times);

}  // namespace tensorfleet::data
