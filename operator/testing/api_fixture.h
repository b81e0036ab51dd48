// The API server that component tests talk to: a FakeApiServer of their own, or a real one when
// TENSORFLEET_TEST_KUBECONFIG names a kubeconfig. Each test gets a namespace of its own there.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "operator/k8s/client.h"
#include "operator/k8s/connect/http_transport.h"
#include "operator/testing/fake_api_server.h"

// For tests of faults that cannot be asked of a real server.
#define FLEET_NEEDS_FAKE_SERVER()                                                          \
  do {                                                                                     \
    if (fake() == nullptr) GTEST_SKIP() << "needs faults that only the fake server makes"; \
  } while (false)

namespace tensorfleet::testing {

class ApiFixture : public ::testing::Test {
 protected:
  ApiFixture();
  ~ApiFixture() override;

  // Null when the server is real.
  FakeApiServer* fake() { return fake_.get(); }
  k8s::Transport& transport() { return *transport_; }
  // Without a rate limit.
  k8s::Client& client() { return *client_; }
  const std::string& ns() const { return ns_; }
  const k8s::ClusterConfig& config() const { return config_; }

  // Creates it, and expects that to work. Returns the stored object.
  Json MustCreate(const std::string& collection, const Json& object);
  std::string ConfigMaps() const { return k8s::CollectionPath("v1", ns_, "configmaps"); }
  static Json ConfigMap(const std::string& name, const Json& labels = Json::object());

  // Polls until `done` or the limit has passed; returns the last answer. The limit is for machines
  // that do much else besides: what is waited for takes milliseconds.
  static bool Eventually(const std::function<bool()>& done,
                         std::chrono::milliseconds limit = std::chrono::seconds(40));

 private:
  std::unique_ptr<FakeApiServer> fake_;
  k8s::ClusterConfig config_;
  std::unique_ptr<k8s::Transport> transport_;
  std::unique_ptr<k8s::Client> client_;
  std::string ns_;
};

}  // namespace tensorfleet::testing
