#include "operator/local/addresses.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <set>

#include "runtime/base/random_id.h"

namespace tensorfleet::local {
namespace {

using Json = nlohmann::ordered_json;

// Linux gives clients ports from 32768 on: below, nobody takes one by accident between our look and
// the server's bind.
constexpr int kLowest = 15'000;
constexpr int kCount = 17'000;

bool IsFree(int port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  address.sin_port = htons(static_cast<uint16_t>(port));
  const bool free = bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  close(fd);
  return free;
}

}  // namespace

StatusOr<Addresses> Addresses::Choose(const api::TFJob& job) {
  std::map<std::string, int> ports;
  std::set<int> tried;
  for (const api::ReplicaType type : api::kReplicaTypes) {
    const api::ReplicaSpec* spec = job.spec.Find(type);
    for (int index = 0; spec != nullptr && index < spec->replicas; ++index) {
      int port = 0;
      while (port == 0) {
        if (tried.size() == kCount) return ResourceExhausted("no free port for each replica");
        const int candidate = kLowest + static_cast<int>(RandomNonZero64() % kCount);
        if (tried.insert(candidate).second && IsFree(candidate)) port = candidate;
      }
      ports[api::ReplicaName(job.name, {type, index})] = port;
    }
  }
  return Addresses(std::move(ports));
}

std::string Addresses::Localize(const std::string& tf_config) const {
  Json json = Json::parse(tf_config, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object() || !json.contains("cluster") || !json["cluster"].is_object())
    return tf_config;
  for (auto& addresses : json["cluster"]) {
    if (!addresses.is_structured()) continue;
    for (auto& address : addresses) {
      if (!address.is_string()) continue;
      const std::string& text = address.get_ref<const std::string&>();
      const auto port = ports_.find(text.substr(0, text.find('.')));
      if (port != ports_.end()) address = absl::StrCat("127.0.0.1:", port->second);
    }
  }
  return json.dump();
}

}  // namespace tensorfleet::local
