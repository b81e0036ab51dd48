#include "runtime/session/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/io/remote/store_counters.h"
#include "runtime/kernels/queue_levels.h"

namespace tensorfleet {
namespace {

using ::testing::HasSubstr;

TEST(DurationHistogram, CountsEachDurationInAllBucketsThatReachIt) {
  DurationHistogram histogram;
  histogram.Observe(50'000);           // 50 us
  histogram.Observe(2'000'000);        // 2 ms
  histogram.Observe(120'000'000'000);  // over the last bound
  std::string text;
  histogram.Render("t", "Help.", &text);
  EXPECT_THAT(text, HasSubstr("# HELP t Help.\n# TYPE t histogram\n"));
  EXPECT_THAT(text, HasSubstr("t_bucket{le=\"0.0001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_bucket{le=\"0.001\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("t_bucket{le=\"0.0025\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_bucket{le=\"60\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("t_bucket{le=\"+Inf\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("t_sum 120.002\n"));
  EXPECT_THAT(text, HasSubstr("t_count 3\n"));
}

TEST(Metrics, BytesAreCountedByEdge) {
  EdgeBytes("/job:a", "/job:b", 30);
  EdgeBytes("/job:a", "/job:b", 12);
  EdgeBytes("/job:b", "/job:a", 1);
  const std::string text = RenderMetrics();
  EXPECT_THAT(text,
              HasSubstr("tensorfleet_received_bytes_total{src=\"/job:a\",dst=\"/job:b\"} 42"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_received_bytes_total{src=\"/job:b\",dst=\"/job:a\"} 1"));
}

TEST(Metrics, EdgesBeyondAThousandAreCountedTogether) {
  EdgeBytes("/job:early", "/job:b", 1);
  for (int i = 0; i < 2000; ++i) EdgeBytes("/job:x" + std::to_string(i), "/job:y", 1);
  EdgeBytes("/job:early", "/job:b", 2);
  const std::string text = RenderMetrics();
  EXPECT_THAT(text, HasSubstr("{src=\"/job:early\",dst=\"/job:b\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("{src=\"other\",dst=\"other\"} 1"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("/job:x1999")));
}

TEST(Metrics, QueuesAreShownByNameAndKind) {
  int queue = 0;
  QueueLevels::All().Add(&queue, [] { return QueueLevel{"a \"b\"", "FIFOQueue", 3, 8, 1, 0}; });
  const std::string text = RenderMetrics();
  QueueLevels::All().Remove(&queue);
  const std::string labels = "{queue=\"a \\\"b\\\"\",kind=\"FIFOQueue\"} ";
  EXPECT_THAT(text, HasSubstr("tensorfleet_queue_elements" + labels + "3\n"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_queue_capacity" + labels + "8\n"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_queue_enqueues_waiting" + labels + "1\n"));
}

// Prometheus refuses a page on which a name is declared twice, or a sample comes before its type.
TEST(Metrics, RequestsToStoresAreCountedByScheme) {
  CountRequest("s3", 10, 0, /*is_retry=*/false);
  CountRequest("s3", 10, 200, /*is_retry=*/true);
  const std::string text = RenderMetrics();
  EXPECT_THAT(text, HasSubstr("tensorfleet_store_requests_total{scheme=\"s3\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_store_retries_total{scheme=\"s3\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_store_sent_bytes_total{scheme=\"s3\"} 20\n"));
  EXPECT_THAT(text, HasSubstr("tensorfleet_store_received_bytes_total{scheme=\"s3\"} 200\n"));
}

TEST(Metrics, EveryNameIsDeclaredOnceAndBeforeItsSamples) {
  const std::string text = RenderMetrics();
  std::vector<std::string> declared;
  size_t at = 0;
  while ((at = text.find("# TYPE ", at)) != std::string::npos) {
    at += 7;
    const std::string name = text.substr(at, text.find(' ', at) - at);
    EXPECT_THAT(declared, ::testing::Not(::testing::Contains(name)));
    EXPECT_LT(at, text.find("\n" + name)) << name;
    declared.push_back(name);
  }
  EXPECT_THAT(declared,
              ::testing::IsSupersetOf({"tensorfleet_step_seconds", "tensorfleet_steps_failed_total",
                                       "tensorfleet_sessions", "process_resident_memory_bytes"}));
}

}  // namespace
}  // namespace tensorfleet
