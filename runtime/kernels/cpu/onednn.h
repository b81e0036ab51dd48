// oneDNN, loaded when the first big enough product is computed: a server that multiplies no
// matrices neither waits for it at start nor keeps it in memory.
#pragma once

#include <cstdint>

namespace tensorfleet::cpu {

// dnnl_sgemm: C = alpha op(A) op(B) + beta C, row-major; returns 0 when it worked.
using SgemmFunction = int (*)(char transa, char transb, int64_t m, int64_t n, int64_t k,
                              float alpha, const float* a, int64_t lda, const float* b, int64_t ldb,
                              float beta, float* c, int64_t ldc);

// Null when the library cannot be loaded, which is logged once; callers then go without.
// Thread-safe. Its own threads are switched off on the calling thread: our pool cuts the work up.
SgemmFunction OneDnnSgemm();

}  // namespace tensorfleet::cpu
