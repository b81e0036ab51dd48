// Where a reader's records come from: the files, one after the other, that a reader is told to
// read. One kind for each reader op. Used by one thread at a time.
#pragma once

#include <memory>
#include <string>

#include "runtime/base/status.h"
#include "runtime/io/record_file.h"

namespace tensorfleet::portable {

class RecordSource {
 public:
  virtual ~RecordSource() = default;
  // Begins with `work`, mostly a file's name. Errors: those of opening it; then nothing has begun.
  virtual Status Start(const std::string& work) = 0;
  // The next record, or false at the end of what was begun.
  virtual StatusOr<bool> Next(std::string* key, std::string* value) = 0;
  // Whether it is known, before Next says so, that there are no more records.
  virtual bool IsOver() const { return false; }
  // Whether the state of a reader between two of them can be saved: of what was begun it says
  // nothing but the name.
  virtual bool CanBeSaved() const { return false; }
};

std::unique_ptr<RecordSource> MakeIdentitySource();
std::unique_ptr<RecordSource> MakeWholeFileSource();
std::unique_ptr<RecordSource> MakeTextLineSource(int64_t skipped_lines);
std::unique_ptr<RecordSource> MakeTFRecordSource(Compression compression);

struct FixedLengthFormat {
  int64_t header = 0, record = 0, footer = 0;  // bytes
  int64_t hop = 0;                             // from record to record; 0: `record`
  bool is_zlib = false;                        // the whole file
};
std::unique_ptr<RecordSource> MakeFixedLengthSource(const FixedLengthFormat& format);

}  // namespace tensorfleet::portable
