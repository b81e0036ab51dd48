#include <limits>

#include "operator/api/fields/spec_reader.h"
#include "operator/api/objects/labels.h"

namespace tensorfleet::api {
namespace {

// The port that peers are told, of the container that listens to them.
int32_t PortOf(const Json& container, const std::string& path, std::vector<FieldError>& errors) {
  int index = 0;
  for (const Json& port : ArrayMember(container, "ports")) {
    const std::string port_path = absl::StrCat(path, ".ports[", index++, "].containerPort");
    if (StringMember(port, "name") != kPortName) continue;
    if (auto number = IntMember(port, "containerPort", 1, 65535)) {
      return static_cast<int32_t>(*number);
    }
    const Json* number = Member(port, "containerPort");
    errors.push_back(Invalid(port_path, number == nullptr ? "null" : Dump(*number),
                             "must be between 1 and 65535, inclusive"));
  }
  return kPort;
}

}  // namespace

TemplateFacts ReadTemplateFacts(const Json& pod_template, const std::string& path,
                                std::vector<FieldError>& errors) {
  TemplateFacts facts;
  const std::string spec_path = absl::StrCat(path, ".spec");
  FieldReader reader(pod_template, path, errors);
  reader.Object("metadata");
  const Json* spec = reader.Object("spec");
  if (spec == nullptr) return facts;
  FieldReader spec_reader(*spec, spec_path, errors);
  facts.scheduler_name = spec_reader.String("schedulerName").value_or("");
  facts.has_restart_policy = !spec_reader.String("restartPolicy").value_or("").empty();
  const Json* containers = spec_reader.Array("containers");
  if (containers == nullptr) return facts;
  facts.container_count = static_cast<int32_t>(containers->size());
  for (size_t i = 0; i < containers->size(); ++i) {
    const Json& container = (*containers)[i];
    const std::string container_path = absl::StrCat(spec_path, ".containers[", i, "]");
    if (!container.is_object()) {
      errors.push_back(Invalid(container_path, container.type_name(), "must be an object"));
      continue;
    }
    FieldReader container_reader(container, container_path, errors);
    container_reader.Array("ports");
    container_reader.Array("env");
    if (container_reader.String("image").value_or("").empty()) {
      facts.containers_without_image.push_back(static_cast<int32_t>(i));
    }
    if (StringMember(container, "name") != kContainerName || facts.has_tensorflow_container)
      continue;
    facts.has_tensorflow_container = true;
    facts.port = PortOf(container, container_path, errors);
  }
  return facts;
}

}  // namespace tensorfleet::api
