// Tensors as Eigen expressions. Heavy: for kernels only.
#pragma once

#define EIGEN_USE_THREADS
#include <unsupported/Eigen/CXX11/Tensor>

#include "runtime/tensor/tensor.h"

namespace tensorfleet {

template <typename T, int kRank>
using EigenMap = Eigen::TensorMap<Eigen::Tensor<T, kRank, Eigen::RowMajor, Eigen::DenseIndex>>;
template <typename T, int kRank>
using EigenConstMap =
    Eigen::TensorMap<Eigen::Tensor<const T, kRank, Eigen::RowMajor, Eigen::DenseIndex>>;

// All elements in a row.
template <typename T>
EigenConstMap<T, 1> Flat(const Tensor& t) {
  return EigenConstMap<T, 1>(t.values<T>().data(), t.num_elements());
}
template <typename T>
EigenMap<T, 1> MutableFlat(Tensor& t) {
  return EigenMap<T, 1>(t.mutable_values<T>().data(), t.num_elements());
}

// The elements under `dims`, whose product is the number of elements.
template <typename T, int kRank>
EigenConstMap<T, kRank> As(const Tensor& t, const Eigen::array<Eigen::DenseIndex, kRank>& dims) {
  return EigenConstMap<T, kRank>(t.values<T>().data(), dims);
}
template <typename T, int kRank>
EigenMap<T, kRank> MutableAs(Tensor& t, const Eigen::array<Eigen::DenseIndex, kRank>& dims) {
  return EigenMap<T, kRank>(t.mutable_values<T>().data(), dims);
}

}  // namespace tensorfleet
