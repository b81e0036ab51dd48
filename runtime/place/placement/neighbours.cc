#include "runtime/place/placement/neighbours.h"

#include <numeric>

#include "runtime/place/analysis/loop_frames.h"

namespace tensorfleet {
namespace {

// What draws a unit: a task (the index of its first device) or one of these.
constexpr int kNothing = -1;
constexpr int kSeveral = -2;

// A unit is a group without a device, or all such groups of one loop.
class Drawing {
 public:
  Drawing(const Graph& graph, const PlacementView& view)
      : graph_(graph),
        view_(view),
        asked_(view.devices.task(view.devices.client_device())),
        unit_(view.groups.groups.size()),
        drawn_by_(unit_.size(), kNothing),
        first_(unit_.size(), -1),
        next_(unit_.size(), -1) {
    std::iota(unit_.begin(), unit_.end(), 0);
  }

  std::vector<int> Run() {
    const StatusOr<LoopFrames> frames = FindLoopFrames(graph_);
    // A graph that breaks the rules of loops is refused when a graph is prepared, with the reason.
    if (frames.ok()) {
      JoinLoops(*frames);
      ListMembers();
      const std::vector<int> order = UnitsByInputs();
      for (const int unit : order) DrawByInputs(unit);
      for (auto it = order.rbegin(); it != order.rend(); ++it) DrawByUsers(*it);
    }
    std::vector<int> drawn(unit_.size(), -1);
    for (size_t i = 0; i < drawn.size(); ++i) {
      if (!IsOpen(i)) continue;
      const int by = drawn_by_[Unit(i)];
      drawn[i] = by == kNothing ? asked_ : by;
    }
    return drawn;
  }

 private:
  bool IsOpen(int group) const { return view_.device_of_group[group] < 0; }
  int GroupOf(const Node& node) const { return view_.groups.group_of[node.id()]; }

  int Unit(int group) {
    while (unit_[group] != group) {
      unit_[group] = unit_[unit_[group]];
      group = unit_[group];
    }
    return group;
  }

  void JoinLoops(const LoopFrames& frames) {
    if (!frames.has_loops()) return;
    std::vector<int> outermost(frames.frames.size(), kRootFrame);
    std::vector<int> first(frames.frames.size(), -1);  // a group, by outermost loop
    for (size_t i = 1; i < outermost.size(); ++i) {    // parents come before their children
      const int parent = frames.frames[i].parent;
      outermost[i] = parent == kRootFrame ? static_cast<int>(i) : outermost[parent];
    }
    for (const Node* node : graph_.nodes()) {
      const int loop = outermost[frames.frame_of[node->id()]];
      const int group = GroupOf(*node);
      if (loop == kRootFrame || !IsOpen(group)) continue;
      if (first[loop] < 0) first[loop] = group;
      unit_[Unit(group)] = Unit(first[loop]);
    }
  }

  void ListMembers() {
    for (int i = static_cast<int>(unit_.size()) - 1; i >= 0; --i) {
      if (!IsOpen(i)) continue;
      next_[i] = first_[Unit(i)];
      first_[Unit(i)] = i;
    }
  }

  template <typename F>
  void ForNodes(int unit, F f) const {
    for (int group = first_[unit]; group >= 0; group = next_[group]) {
      for (const Node* node : view_.groups.groups[group].nodes) f(*node);
    }
  }

  // A node without data, a NoOp, is tied by what it waits for.
  static bool Counts(const Edge& edge, const Node& node) {
    return !edge.is_control() || (node.num_inputs() == 0 && node.num_outputs() == 0);
  }

  // f(other end) for each edge into, or out of, the unit that counts.
  template <typename F>
  void ForInputs(int unit, F f) {
    ForNodes(unit, [&](const Node& node) {
      for (const Edge* edge : node.in_edges()) {
        if (Counts(*edge, node)) f(*edge->src);
      }
    });
  }
  template <typename F>
  void ForUsers(int unit, F f) {
    ForNodes(unit, [&](const Node& node) {
      for (const Edge* edge : node.out_edges()) {
        if (Counts(*edge, *edge->dst)) f(*edge->dst);
      }
    });
  }

  // Units so that inputs come before their users. Units of a cycle, which only colocation can make,
  // are left out.
  std::vector<int> UnitsByInputs() {
    std::vector<int> pending(unit_.size(), 0), order;
    for (size_t i = 0; i < unit_.size(); ++i) {
      if (first_[i] < 0) continue;
      const int unit = static_cast<int>(i);
      ForInputs(unit, [&](const Node& src) {
        const int from = GroupOf(src);
        pending[unit] += IsOpen(from) && Unit(from) != unit;
      });
      if (pending[unit] == 0) order.push_back(unit);
    }
    for (size_t i = 0; i < order.size(); ++i) {
      const int unit = order[i];
      ForUsers(unit, [&](const Node& dst) {
        const int to = GroupOf(dst);
        if (IsOpen(to) && Unit(to) != unit && --pending[Unit(to)] == 0) order.push_back(Unit(to));
      });
    }
    return order;
  }

  // What draws the neighbour itself.
  int Draw(const Node& node) {
    const int group = GroupOf(node);
    return IsOpen(group) ? drawn_by_[Unit(group)]
                         : view_.devices.task(view_.device_of_group[group]);
  }

  // Several tasks draw: none of them does, and the asked one is as good as any.
  void Add(int task, int* by) const {
    if (task == kNothing) return;
    *by = *by == kNothing || *by == task ? task : kSeveral;
  }
  int Settled(int by) const { return by == kSeveral ? asked_ : by; }

  void DrawByInputs(int unit) {
    bool belongs = false;
    ForNodes(unit, [&](const Node& node) { belongs |= node.Is(NodeKind::kOfProcess); });
    int by = belongs ? asked_ : kNothing;
    if (!belongs) ForInputs(unit, [&](const Node& src) { Add(Draw(src), &by); });
    drawn_by_[unit] = Settled(by);
  }

  void DrawByUsers(int unit) {
    if (drawn_by_[unit] != kNothing) return;
    int by = kNothing;
    ForUsers(unit, [&](const Node& dst) { Add(Draw(dst), &by); });
    drawn_by_[unit] = by == kNothing ? asked_ : Settled(by);
  }

  const Graph& graph_;
  const PlacementView& view_;
  const int asked_;
  std::vector<int> unit_;      // by group: another group of its unit, or itself
  std::vector<int> drawn_by_;  // by unit
  std::vector<int> first_,
      next_;  // a unit's groups as a list: first by unit, next by group; -1 at its end
};

}  // namespace

std::vector<int> DrawnByNeighbours(const Graph& graph, const PlacementView& view) {
  return Drawing(graph, view).Run();
}

}  // namespace tensorfleet
