#include <cstdio>

#include "runtime/client/ops.h"
#include "runtime/client/session.h"

int main() {
  tensorfleet::Scope root;
  const auto sum = tensorfleet::ops::AddV2(root, Const(root, 40.0f), Const(root, 2.0f));
  const auto values = (*tensorfleet::Session::Open(""))->Run(root, {}, {sum});
  if (!values.ok()) return 1;
  std::printf("%s\n", (*values)[0].ToString().c_str());
}
