// The records of one file: TFRecords, lines, or pieces of one length.
#pragma once

#include <memory>
#include <string>

#include "runtime/io/byte_stream.h"

namespace tensorfleet::data {

struct RecordFormat {
  enum class Kind { kTFRecord, kLine, kFixedLength };
  Kind kind = Kind::kTFRecord;
  Compression compression = Compression::kNone;
  // Of pieces of one length, and what is before and behind them.
  int64_t header_bytes = 0, record_bytes = 1, footer_bytes = 0;
};

// Not thread-safe.
class RecordStream {
 public:
  virtual ~RecordStream() = default;
  // The next record; false at the end. Errors: DataLoss, naming the file and the place.
  virtual StatusOr<bool> Read(std::string* record) = 0;
  // Where it stands, and going on from there, behind what has been read.
  virtual uint64_t place() const = 0;
  virtual Status GoTo(uint64_t place) = 0;
};

// Errors: NotFound, and what opening says.
StatusOr<std::unique_ptr<RecordStream>> OpenRecords(const std::string& path,
                                                    const RecordFormat& format);

}  // namespace tensorfleet::data
