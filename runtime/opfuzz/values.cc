#include "runtime/opfuzz/values.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include <Eigen/Core>

#include "runtime/kernels/types.h"

namespace tensorfleet::opfuzz {
namespace {

constexpr int64_t kMaxElements = 600;

Shape Made(const std::vector<int64_t>& dims) {
  StatusOr<Shape> shape = Shape::Make(dims);
  return shape.ok() ? *std::move(shape) : Shape();
}

// How the integers of one tensor are chosen.
enum class Order { kAny, kSorted, kPermutation, kConstant };

template <typename T>
std::vector<int64_t> Integers(Random& random, int64_t n) {
  const Order order = random.Pick(
      {Order::kAny, Order::kAny, Order::kSorted, Order::kPermutation, Order::kConstant});
  const int64_t low = random.Percent(15) && std::numeric_limits<T>::min() < T() ? -2 : 0;
  const int64_t high = random.Pick({1, 2, 3, 3, 5, 9});
  std::vector<int64_t> values(n);
  const int64_t constant = random.Between(low, high);
  for (int64_t& v : values) v = order == Order::kConstant ? constant : random.Between(low, high);
  if (order == Order::kSorted) std::sort(values.begin(), values.end());
  if (order == Order::kPermutation) {
    std::iota(values.begin(), values.end(), 0);
    for (int64_t i = n - 1; i > 0; --i) std::swap(values[i], values[random.Below(i + 1)]);
    if (static_cast<double>(n) > static_cast<double>(std::numeric_limits<T>::max()))
      std::fill(values.begin(), values.end(), 0);
  }
  return values;
}

double HostileReal(Random& random) {
  using Limits = std::numeric_limits<double>;
  using Floats = std::numeric_limits<float>;
  return random.Pick({Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity(), -0.0, 0.0, 1.0,
                      -1.0, 1e-310, 1e-40, double{Floats::max()}, double{Floats::lowest()},
                      Limits::max(), double{Floats::min()}, 65504.0, 2147483648.0, 9.3e18, 0.5,
                      1e10});
}

std::string RandomText(Random& random, Manner manner) {
  if (manner == Manner::kUsual) {
    return random.Pick<const char*>(
        {"", "a", "ab", "1", "2.5", "a b c", "x,y", "abcabc", "s1", "s2", "s3", "a/b", "-7"});
  }
  switch (random.Below(6)) {
    case 0:
      return std::string("\xff\xfe\x80", 3);
    case 1:
      return std::string("a\0b", 3);
    case 2:
      return std::string(random.Between(1, 3000),
                         random.Pick({'x', '(', '%', '*', '[', '{', '\\', ' '}));
    case 3:
      return random.Pick<const char*>({"(", "[a", "%s%n%d", "{}{}", "*?[", "(a*)*b", "\\", "1e999",
                                       "nan", "0x", "inf", "\t\n", "99999999999999999999", "//",
                                       "..", "\xc3\x28", "\xed\xa0\x80", "a{1000}{1000}"});
    default: {
      std::string text(random.Below(20), ' ');
      for (char& c : text) c = static_cast<char>(random.Bits());
      return text;
    }
  }
}

template <typename T>
void Fill(Random& random, Manner manner, absl::Span<T> out) {
  if constexpr (std::is_same_v<T, bool>) {
    for (T& v : out) v = random.Percent(50);
  } else if constexpr (std::is_same_v<T, std::string>) {
    for (T& v : out)
      v = RandomText(random,
                     manner == Manner::kHostile && random.Percent(50) ? manner : Manner::kUsual);
  } else if constexpr (std::is_integral_v<T>) {
    const std::vector<int64_t> values = Integers<T>(random, out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(values[i]);
    if (manner == Manner::kUsual) return;
    for (T& v : out) {
      if (random.Percent(out.size() > 3 ? 30 : 70)) v = static_cast<T>(HostileInt(random));
    }
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    using Part = typename T::value_type;
    const auto part = [&] {
      return static_cast<Part>(manner == Manner::kHostile && random.Percent(40)
                                   ? HostileReal(random)
                                   : random.Real(-3, 3));
    };
    for (T& v : out) v = T(part(), part());
  } else {
    const double low = random.Percent(60) ? 0.1 : -4;
    const bool whole = random.Percent(20);
    for (T& v : out) {
      const double usual = random.Real(low, 4);
      const double value =
          manner == Manner::kHostile && random.Percent(40) ? HostileReal(random) : usual;
      v = static_cast<T>(static_cast<float>(whole ? std::floor(value) : value));
      if constexpr (std::is_same_v<T, double>) v = whole ? std::floor(value) : value;
    }
  }
}

template <typename T>
bool FillAs(Random& random, Manner manner, Tensor* tensor) {
  if (tensor->dtype() != kDTypeOf<T>) return false;
  Fill<T>(random, manner, tensor->mutable_values<T>());
  return true;
}

template <typename... T>
bool FillAsOneOf(Random& random, Manner manner, Tensor* tensor) {
  return (FillAs<T>(random, manner, tensor) || ...);
}

}  // namespace

int64_t HostileInt(Random& random) {
  switch (random.Below(4)) {
    case 0:
      return random.Between(-4, 8);
    case 1:
      return random.Pick<int64_t>({-1, std::numeric_limits<int64_t>::max(),
                                   std::numeric_limits<int64_t>::min(),
                                   std::numeric_limits<int32_t>::max(),
                                   std::numeric_limits<int32_t>::min(), 1 << 20, 1 << 24});
    case 2: {
      const int64_t power = int64_t{1} << random.Below(63);
      return (random.Percent(30) ? -power : power) + random.Between(-1, 1);
    }
    default:
      return static_cast<int64_t>(random.Bits());
  }
}

Shape RandomShape(Random& random, Manner manner) {
  const bool is_hostile = manner == Manner::kHostile;
  const int64_t rank = is_hostile ? random.Below(9) : random.Pick({0, 1, 1, 2, 2, 2, 3, 3, 4, 4});
  std::vector<int64_t> dims(rank);
  bool has_zero = false;
  for (int64_t& d : dims) {
    d = random.Pick<int64_t>({1, 1, 2, 2, 3, 3, 4, 5});
    if (random.Percent(is_hostile ? 25 : 2)) d = 0;
    has_zero = has_zero || d == 0;
  }
  int64_t elements = 1;
  for (int64_t& d : dims) {
    if (has_zero && is_hostile && d != 0 && random.Percent(50)) {
      d = random.Pick<int64_t>({int64_t{1} << 31, int64_t{1} << 32, int64_t{1} << 40,
                                int64_t{1} << 62, 1 << 20, (int64_t{1} << 31) - 1});
    }
    if (elements * d > kMaxElements && !has_zero) d = 1;
    if (!has_zero) elements *= d;
  }
  return Made(dims);
}

ShapeFamily::ShapeFamily(Random& random) : base_(RandomShape(random, Manner::kUsual)) {}

Shape ShapeFamily::Next(Random& random) const {
  std::vector<int64_t> dims(base_.dims().begin(), base_.dims().end());
  const int64_t at = random.Below(dims.size());
  const int64_t size = random.Pick<int64_t>({1, 2, 3, 4});
  switch (random.Below(20)) {
    case 0:
    case 1:
    case 2:
      return Shape();
    case 3:
    case 4:  // as long as the others have dimensions: axes, paddings, begins and sizes
      return Shape({base_.rank()});
    case 5:
      return Shape({base_.rank(), 2});
    case 6:  // a row's index, or a bias
      return dims.empty() ? Shape() : Shape({random.Percent(50) ? dims.front() : dims.back()});
    case 7:
      return Shape({size});
    case 8:
      if (!dims.empty()) dims[at] = size;
      return Made(dims);
    case 9:
      if (!dims.empty()) dims.erase(dims.begin() + at);
      return Made(dims);
    case 10:
      dims.insert(dims.begin() + at, size);
      return Made(dims);
    case 11:
      return RandomShape(random, Manner::kUsual);
    case 12:  // the other operand of a product
      if (dims.size() >= 2) std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
      return Made(dims);
    default:
      return base_;
  }
}

Tensor RandomTensor(Random& random, DType dtype, const Shape& shape, Manner manner) {
  StatusOr<Tensor> made = Tensor::Zeros(dtype, shape);
  if (!made.ok()) made = Tensor::Zeros(dtype, Shape());
  TFLEET_CHECK(made.ok());
  FillAsOneOf<float, double, Eigen::half, Eigen::bfloat16, int8_t, int16_t, int32_t, int64_t,
              uint8_t, uint16_t, uint32_t, uint64_t, bool, std::string, std::complex<float>,
              std::complex<double>>(random, manner, &*made);
  return *std::move(made);
}

}  // namespace tensorfleet::opfuzz
