#include "operator/k8s/connect/credentials.h"

#include <fstream>
#include <sstream>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "runtime/base/mutex.h"

namespace tensorfleet::k8s {
namespace {

class Fixed final : public Credentials {
 public:
  explicit Fixed(Credential credential) : credential_(std::move(credential)) {}
  StatusOr<Credential> Get(http::Deadline) override { return credential_; }

 private:
  const Credential credential_;
};

class FromFile final : public Credentials {
 public:
  FromFile(std::string path, const Clock* clock) : path_(std::move(path)), clock_(clock) {}

  StatusOr<Credential> Get(http::Deadline) override {
    MutexLock lock(&mu_);
    const auto now = clock_->NowSteady();
    if (has_token_ && now - read_at_ < std::chrono::minutes(1)) return credential_;
    std::ifstream file(path_);
    std::stringstream text;
    text << file.rdbuf();
    const std::string token(absl::StripAsciiWhitespace(text.str()));
    if (!file || token.empty()) {
      // A rotation caught half-way: the old token is good for a while.
      if (has_token_) return credential_;
      return Unauthenticated("token file ", path_, " cannot be read or is empty");
    }
    credential_.authorization = "Bearer " + token;
    has_token_ = true;
    read_at_ = now;
    return credential_;
  }

  void Invalidate() override {
    MutexLock lock(&mu_);
    has_token_ = false;
  }

 private:
  const std::string path_;
  const Clock* const clock_;
  Mutex mu_;
  bool has_token_ ABSL_GUARDED_BY(mu_) = false;
  std::chrono::steady_clock::time_point read_at_ ABSL_GUARDED_BY(mu_);
  Credential credential_ ABSL_GUARDED_BY(mu_);
};

}  // namespace

std::shared_ptr<Credentials> StaticToken(std::string token) {
  return std::make_shared<Fixed>(Credential{"Bearer " + std::move(token), "", ""});
}

std::shared_ptr<Credentials> BasicAuth(const std::string& user, const std::string& password) {
  return std::make_shared<Fixed>(
      Credential{"Basic " + absl::Base64Escape(absl::StrCat(user, ":", password)), "", ""});
}

std::shared_ptr<Credentials> TokenFile(std::string path, const Clock* clock) {
  return std::make_shared<FromFile>(std::move(path), clock);
}

}  // namespace tensorfleet::k8s
