#include "operator/testing/api_fixture.h"

#include <cstdlib>
#include <thread>

#include "runtime/base/check.h"
#include "runtime/base/random_id.h"

namespace tensorfleet::testing {

ApiFixture::ApiFixture() {
  const char* kubeconfig = std::getenv("TENSORFLEET_TEST_KUBECONFIG");
  if (kubeconfig == nullptr) {
    fake_ = std::make_unique<FakeApiServer>();
    config_.server = fake_->url();
    ns_ = "default";
  } else {
    auto loaded = k8s::LoadKubeconfig(kubeconfig, "", Clock::Real());
    TFLEET_CHECK(loaded.ok());
    config_ = *loaded;
    ns_ = absl::StrCat("fleet-test-", absl::Hex(RandomNonZero64()));
  }
  auto transport = k8s::MakeHttpTransport(config_);
  TFLEET_CHECK(transport.ok());
  transport_ = std::move(*transport);
  client_ = std::make_unique<k8s::Client>(transport_.get(), nullptr);
  if (fake_ == nullptr) {
    const Json object = {
        {"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", ns_}}}};
    TFLEET_CHECK(client_->Create("/api/v1/namespaces", object.dump()).ok());
    // Pods cannot be made before the namespace has its service account.
    Eventually([&] {
      return client_->Get(k8s::ObjectPath("v1", ns_, "serviceaccounts", "default")).ok();
    });
  }
}

ApiFixture::~ApiFixture() {
  if (fake_ == nullptr) (void)client_->Delete("/api/v1/namespaces/" + ns_);
}

Json ApiFixture::MustCreate(const std::string& collection, const Json& object) {
  const auto created = client_->Create(collection, object.dump());
  EXPECT_TRUE(created.ok()) << created.status();
  return created.ok() ? Json::parse(*created) : Json();
}

Json ApiFixture::ConfigMap(const std::string& name, const Json& labels) {
  return {{"apiVersion", "v1"},
          {"kind", "ConfigMap"},
          {"metadata", {{"name", name}, {"labels", labels}}}};
}

bool ApiFixture::Eventually(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto end = std::chrono::steady_clock::now() + limit;
  while (!done()) {
    if (std::chrono::steady_clock::now() > end) return done();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return true;
}

}  // namespace tensorfleet::testing
