// Arithmetic on outputs, for formulas that read as such:
//
//   const Term x(scope, output);
//   const Term y = x * x / 2.0 + Of(ops::Cos, x);
//
// Each operator adds one op to the term's scope; a number becomes a constant of the other side's
// type. Errors stay in the scope's status, as everywhere in runtime/client.
#pragma once

#include "runtime/client/scope.h"

namespace tensorfleet {

// A scalar constant of a numeric type. Fails the scope for a type that holds no numbers.
Output ScalarConst(const Scope& scope, DType dtype, double value);

class Term {
 public:
  Term(Scope scope, Output output) : scope_(std::move(scope)), output_(output) {}
  const Scope& scope() const { return scope_; }
  const Output& output() const { return output_; }
  DType dtype() const { return output_.dtype(); }
  operator const Output&() const { return output_; }  // a term is an output with a place
  // The constant `value` beside this term.
  Term Number(double value) const { return {scope_, ScalarConst(scope_, dtype(), value)}; }

 private:
  Scope scope_;
  Output output_;
};

Term operator+(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term operator-(const Term& a);

inline Term operator+(const Term& a, double b) { return a + a.Number(b); }
inline Term operator+(double a, const Term& b) { return b.Number(a) + b; }
inline Term operator-(const Term& a, double b) { return a - a.Number(b); }
inline Term operator-(double a, const Term& b) { return b.Number(a) - b; }
inline Term operator*(const Term& a, double b) { return a * a.Number(b); }
inline Term operator*(double a, const Term& b) { return b.Number(a) * b; }
inline Term operator/(const Term& a, double b) { return a / a.Number(b); }
inline Term operator/(double a, const Term& b) { return b.Number(a) / b; }

// An op of one or two arguments of "runtime/client/ops.h", as a term.
template <typename Op>
Term Of(Op op, const Term& a) {
  return Term(a.scope(), op(a.scope(), a));
}
template <typename Op>
Term Of(Op op, const Term& a, const Term& b) {
  return Term(a.scope(), op(a.scope(), a, b));
}

// The complex conjugate; real terms are returned as they are.
Term Conjugate(const Term& a);

}  // namespace tensorfleet
