// Pages of `tensorfleet ui`: plain HTML without scripts or anything from elsewhere. All that comes
// from the cluster is escaped.
#pragma once

#include <string>

#include "operator/view/job_facts.h"
#include "operator/view/job_reader.h"
#include "operator/view/readings.h"

namespace tensorfleet::view {

// `text` as HTML shows it, within quotes too.
std::string Escaped(const std::string& text);

// `ns`: whose jobs they are; "" for all. `now`: RFC 3339.
std::string JobsPage(const JobPage& jobs, const std::string& ns, const std::string& now);
// `log_of`: the pod whose log the readings are from.
std::string OneJobPage(const JobFacts& job, const Readings& readings, const std::string& log_of,
                       const std::string& now);
std::string ErrorPage(const std::string& title, const std::string& text);

}  // namespace tensorfleet::view
