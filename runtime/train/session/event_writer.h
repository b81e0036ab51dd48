// Event files, which TensorBoard shows: summaries, the graph, and when sessions began and saved.
// One file per writer, named "events.out.tfevents.SECONDS.HOST.PID". Not thread-safe.
#pragma once

#include <memory>
#include <string>

#include "proto/event.pb.h"
#include "proto/meta_graph.pb.h"
#include "runtime/base/clock.h"
#include "runtime/base/status.h"
#include "runtime/io/record_file.h"

namespace tensorfleet::train {

class EventWriter {
 public:
  // Makes the directory when there is none. Errors: what the file system says.
  static StatusOr<std::unique_ptr<EventWriter>> Open(const std::string& directory,
                                                     const Clock* clock = Clock::Real());

  // A serialised Summary, as summary ops give it. Errors: InvalidArgument when it is none.
  Status AddSummary(const std::string& serialized, int64_t step);
  Status AddScalar(const std::string& tag, float value, int64_t step);
  Status AddGraph(const tensorflow::MetaGraphDef& meta, const tensorflow::GraphDef& placed);
  Status AddSession(tensorflow::SessionLog::SessionStatus status, int64_t step,
                    const std::string& checkpoint = "");

  // What was added so far can be read by others.
  Status Flush() { return file_->Flush(); }
  Status Close() { return file_->Close(); }
  const std::string& path() const { return path_; }

 private:
  EventWriter(std::unique_ptr<RecordWriter> file, std::string path, const Clock* clock)
      : file_(std::move(file)), path_(std::move(path)), clock_(clock) {}
  Status Add(tensorflow::Event event);

  const std::unique_ptr<RecordWriter> file_;
  const std::string path_;
  const Clock* const clock_;
};

}  // namespace tensorfleet::train
