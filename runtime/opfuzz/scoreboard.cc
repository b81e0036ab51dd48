#include "runtime/opfuzz/scoreboard.h"

#include <sys/mman.h>

#include <algorithm>

#include "runtime/base/check.h"

namespace tensorfleet::opfuzz {

Scoreboard* Scoreboard::Make() {
  void* memory =
      mmap(nullptr, sizeof(Scoreboard), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  TFLEET_CHECK(memory != MAP_FAILED);
  return static_cast<Scoreboard*>(memory);  // zeros are what its atomics start with
}

void Scoreboard::AddNote(uint64_t at, int step, const std::string& text) {
  const int i = num_notes.fetch_add(1);
  if (i >= kMaxNotes) return;
  notes[i].number = at;
  notes[i].step = step;
  const size_t size = std::min(text.size(), sizeof(notes[i].text) - 1);
  std::memcpy(notes[i].text, text.data(), size);
  notes[i].is_set = true;
}

}  // namespace tensorfleet::opfuzz
