// For builds under ThreadSanitizer: while a TsanIgnore lives, what its thread reads, writes,
// allocates and frees counts for no access; while a TsanWatch lives inside, it counts again. What
// orders threads (locks, atomics) counts always.
#pragma once

extern "C" {
void AnnotateIgnoreReadsBegin(const char* file, int line);
void AnnotateIgnoreReadsEnd(const char* file, int line);
void AnnotateIgnoreWritesBegin(const char* file, int line);
void AnnotateIgnoreWritesEnd(const char* file, int line);
}

namespace tensorfleet {

inline thread_local int tsan_ignores = 0;  // of this thread, alive now

class TsanIgnore {
 public:
  TsanIgnore() {
    ++tsan_ignores;
    AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
    AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
  }
  ~TsanIgnore() {
    AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
    AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    --tsan_ignores;
  }
  TsanIgnore(const TsanIgnore&) = delete;
  TsanIgnore& operator=(const TsanIgnore&) = delete;
};

class TsanWatch {
 public:
  TsanWatch() {
    for (int i = 0; i < tsan_ignores; ++i) {
      AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
      AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
    }
  }
  ~TsanWatch() {
    for (int i = 0; i < tsan_ignores; ++i) {
      AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
      AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
  }
  TsanWatch(const TsanWatch&) = delete;
  TsanWatch& operator=(const TsanWatch&) = delete;
};

}  // namespace tensorfleet
