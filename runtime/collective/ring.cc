// Pieces travel around a ring of the members. A reduction goes around twice: first each piece
// gathers every member's part, beginning at the member after the one that ends up with all of it;
// then the whole pieces go to everybody. So each member sends 2 (n-1)/n of the tensor, which is the
// least there can be; and since each element is merged once, in one order, by one member, results
// are the same bits everywhere.
#include <algorithm>
#include <atomic>
#include <cstring>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "runtime/collective/exchange.h"
#include "runtime/collective/merge.h"
#include "runtime/collective/plan.h"

namespace tensorfleet::collective {
namespace {

class RingRun : public std::enable_shared_from_this<RingRun> {
 public:
  explicit RingRun(std::shared_ptr<Exchange> exchange)
      : exchange_(std::move(exchange)),
        args_(exchange_->args()),
        size_(exchange_->group().size()),
        element_bytes_(static_cast<int64_t>(ElementSize(args_.dtype))) {}

  void Start() {
    Status status = Prepare();
    if (!status.ok()) return exchange_->Fail(status);
    // One more than there are, so that the last of them is not over before all have begun.
    pending_ = static_cast<int>(rings_.size()) * size_ + 1;
    for (int part = 0; part < size_; ++part) {
      for (size_t r = 0; r < rings_.size(); ++r) Begin(PieceOf(part, static_cast<int>(r)));
    }
    PieceDone();
  }

 private:
  // A part of the tensor for each member, cut further into a piece for each ring.
  struct Piece {
    int part = 0;
    int ring = 0;
    int number = 0;    // in keys
    int position = 0;  // of this member on the ring
    int64_t begin = 0;
    int64_t elements = 0;
  };

  Status Prepare() {
    input_ = args_.input.Flat();
    TFLEET_ASSIGN_OR_RETURN(output_, Tensor::Allocate(args_.dtype, args_.shape));
    flat_ = output_.Flat();
    std::vector<int> offsets = args_.subdiv_offsets;
    if (args_.kind != CollectiveKind::kReduce) offsets = {0};
    if (offsets.empty()) {
      TFLEET_ASSIGN_OR_RETURN(offsets, ChooseOffsets(exchange_->group(), args_.max_subdivs,
                                                     static_cast<int64_t>(output_.bytes())));
    }
    rings_ = MakeRings(exchange_->group(), offsets);
    for (const Ring& ring : rings_) {
      for (int i = 0; i < size_; ++i) {
        if (ring[i] == exchange_->rank()) positions_.push_back(i);
      }
    }
    switch (args_.kind) {
      case CollectiveKind::kReduce:
        piece_elements_ = AlignedPiece(element_bytes_, flat_.num_elements(),
                                       size_ * static_cast<int64_t>(rings_.size()));
        break;
      case CollectiveKind::kGather:
        piece_elements_ = input_.num_elements();
        std::memcpy(At(flat_, piece_elements_ * positions_[0]), input_.raw(), input_.bytes());
        break;
      default:
        piece_elements_ = flat_.num_elements();
    }
    return args_.kind == CollectiveKind::kGather ? OkStatus() : CheckCanMerge(args_.dtype);
  }

  Piece PieceOf(int part, int ring) const {
    Piece piece;
    piece.part = part;
    piece.ring = ring;
    piece.number = part * static_cast<int>(rings_.size()) + ring;
    piece.position = positions_[ring];
    // The part that a member of a reduce-scatter keeps is the one that it merges last.
    const int place =
        args_.kind == CollectiveKind::kReduceScatter ? (part - 1 + size_) % size_ : piece.number;
    const int64_t total = Total();
    piece.begin = std::min(total, place * piece_elements_);
    piece.elements = std::min(total, piece.begin + piece_elements_) - piece.begin;
    return piece;
  }
  int64_t Total() const {
    return args_.kind == CollectiveKind::kReduceScatter ? input_.num_elements()
                                                        : flat_.num_elements();
  }

  char* At(Tensor& tensor, int64_t element) const {
    return static_cast<char*>(tensor.mutable_raw()) + element * element_bytes_;
  }
  int Next(const Piece& p) const { return rings_[p.ring][(p.position + 1) % size_]; }
  int Previous(const Piece& p) const { return rings_[p.ring][(p.position + size_ - 1) % size_]; }
  // Whether this member is the one `steps` before the piece's own.
  bool IsBefore(const Piece& p, int steps) const {
    return p.position == (p.part + size_ - steps) % size_;
  }
  std::string Key(const Piece& p, int pass, bool mine) const {
    const int from = mine ? p.position : (p.position + size_ - 1) % size_;
    return absl::StrCat(exchange_->key(), ":", pass, ":", p.number, ":", from);
  }

  void Begin(const Piece& p) {
    if (p.elements == 0) return PieceDone();
    const bool merges = args_.kind != CollectiveKind::kGather;
    if (IsBefore(p, 0))
      return FirstPassDone(p, merges ? input_.Rows(p.begin, p.begin + p.elements)
                                     : flat_.Rows(p.begin, p.begin + p.elements));
    exchange_->Receive(Previous(p), Key(p, 0, false), p.elements,
                       [self = shared_from_this(), p, merges](Tensor piece) {
                         if (!merges) {
                           self->Keep(p, piece);
                           return self->FirstPassDone(p, std::move(piece));
                         }
                         self->FirstPassDone(p, self->MergeWith(p, std::move(piece)));
                       });
  }

  void Keep(const Piece& p, const Tensor& piece) {
    std::memcpy(At(flat_, p.begin), piece.raw(), piece.bytes());
  }

  // This member's part and what has come.
  Tensor MergeWith(const Piece& p, Tensor came) {
    Tensor own = input_.Rows(p.begin, p.begin + p.elements);
    const bool is_last = IsBefore(p, 1);
    if (args_.kind == CollectiveKind::kReduceScatter && !is_last) {
      StatusOr<Tensor> merged = Tensor::Allocate(args_.dtype, came.shape());
      if (!merged.ok()) throw std::bad_alloc();
      Merge(args_.merge, args_.dtype, own.raw(), came.raw(), merged->mutable_raw(), p.elements);
      return *std::move(merged);
    }
    const int64_t place = args_.kind == CollectiveKind::kReduceScatter ? 0 : p.begin;
    char* const out = At(flat_, place);
    Merge(args_.merge, args_.dtype, own.raw(), came.raw(), out, p.elements);
    if (is_last) collective::Finish(args_.final, args_.dtype, out, p.elements, size_);
    return flat_.Rows(place, place + p.elements);
  }

  void FirstPassDone(const Piece& p, Tensor piece) {
    const bool is_last = IsBefore(p, 1);
    if (!is_last) exchange_->Post(Next(p), Key(p, 0, true), piece);
    if (args_.kind != CollectiveKind::kReduce) return PieceDone();
    if (is_last) return SecondPassDone(p, std::move(piece));
    // Whoever has merged this member's own piece has read it by the time the whole one comes.
    exchange_->Receive(Previous(p), Key(p, 1, false), p.elements,
                       [self = shared_from_this(), p](Tensor whole) {
                         self->Keep(p, whole);
                         self->SecondPassDone(p, std::move(whole));
                       });
  }

  void SecondPassDone(const Piece& p, Tensor piece) {
    if (!IsBefore(p, 2)) exchange_->Post(Next(p), Key(p, 1, true), std::move(piece));
    PieceDone();
  }

  void PieceDone() {
    if (pending_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    flat_.Clear();
    input_.Clear();
    exchange_->Finish(std::move(output_));
  }

  const std::shared_ptr<Exchange> exchange_;
  const CollectiveArgs& args_;
  const int size_;
  const int64_t element_bytes_;
  std::vector<Ring> rings_;
  std::vector<int> positions_;  // of this member on each ring
  int64_t piece_elements_ = 0;
  Tensor input_, output_, flat_;
  std::atomic<int> pending_{0};
};

}  // namespace

void StartRing(std::shared_ptr<Exchange> exchange) {
  std::make_shared<RingRun>(std::move(exchange))->Start();
}

}  // namespace tensorfleet::collective
