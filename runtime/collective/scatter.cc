// Collectives in which pieces go straight from member to member: broadcast and all-to-all.
#include <atomic>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/collective/exchange.h"
#include "runtime/collective/plan.h"

namespace tensorfleet::collective {
namespace {

class BroadcastRun : public std::enable_shared_from_this<BroadcastRun> {
 public:
  BroadcastRun(std::shared_ptr<Exchange> exchange, int source_rank)
      : exchange_(std::move(exchange)),
        trees_(MakeTrees(exchange_->group(), source_rank, exchange_->rank())) {}

  void Start() {
    if (exchange_->args().is_source) value_ = exchange_->args().input.Flat();
    Continue(0);
  }

 private:
  void Continue(size_t i) {
    if (i == trees_.size()) {
      exchange_->Finish(value_.Reshaped(exchange_->args().shape));
      return;
    }
    const Tree& tree = trees_[i];
    if (tree.receive_from < 0) return Pass(i);
    exchange_->Receive(tree.members[tree.receive_from], Key(tree, tree.receive_from, tree.self),
                       exchange_->args().shape.num_elements(),
                       [self = shared_from_this(), i](Tensor value) {
                         self->value_ = std::move(value);
                         self->Pass(i);
                       });
  }
  void Pass(size_t i) {
    const Tree& tree = trees_[i];
    for (const int to : tree.send_to) {
      exchange_->Post(tree.members[to], Key(tree, tree.self, to), value_);
    }
    Continue(i + 1);
  }
  std::string Key(const Tree& tree, int from, int to) const {
    return absl::StrCat(exchange_->key(), ":", tree.number, ":", from, ":", to);
  }

  const std::shared_ptr<Exchange> exchange_;
  const std::vector<Tree> trees_;
  Tensor value_;
};

class AllToAllRun : public std::enable_shared_from_this<AllToAllRun> {
 public:
  explicit AllToAllRun(std::shared_ptr<Exchange> exchange) : exchange_(std::move(exchange)) {}

  void Start() {
    const CollectiveArgs& args = exchange_->args();
    StatusOr<Tensor> output = Tensor::Allocate(args.dtype, args.shape);
    if (!output.ok()) return exchange_->Fail(output.status());
    output_ = *std::move(output);
    flat_ = output_.Flat();
    const Tensor input = args.input.Flat();
    const int size = exchange_->group().size();
    const int self = exchange_->rank();
    const int64_t row = input.num_elements() / size;
    pending_ = size;
    for (int i = 0; i < size; ++i) {
      Tensor piece = input.Rows(i * row, (i + 1) * row);
      if (i == self) {
        Keep(i * row, piece);
      } else {
        exchange_->Post(i, absl::StrCat(exchange_->key(), self, i), std::move(piece));
      }
    }
    for (int i = 0; i < size; ++i) {
      if (i == self) continue;
      exchange_->Receive(i, absl::StrCat(exchange_->key(), i, self), row,
                         [run = shared_from_this(), i, row](const Tensor& piece) {
                           run->Keep(i * row, piece);
                           run->PieceDone();
                         });
    }
    PieceDone();
  }

 private:
  void Keep(int64_t element, const Tensor& piece) {
    std::memcpy(static_cast<char*>(flat_.mutable_raw()) + element * ElementSize(flat_.dtype()),
                piece.raw(), piece.bytes());
  }
  void PieceDone() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    flat_.Clear();
    exchange_->Finish(std::move(output_));
  }

  const std::shared_ptr<Exchange> exchange_;
  Tensor output_, flat_;
  std::atomic<int> pending_{0};
};

}  // namespace

void StartBroadcast(std::shared_ptr<Exchange> exchange, int source_rank) {
  std::make_shared<BroadcastRun>(std::move(exchange), source_rank)->Start();
}
void StartAllToAll(std::shared_ptr<Exchange> exchange) {
  std::make_shared<AllToAllRun>(std::move(exchange))->Start();
}

}  // namespace tensorfleet::collective
