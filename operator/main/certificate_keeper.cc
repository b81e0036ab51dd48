#include "operator/main/certificate_keeper.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "operator/http/tls.h"
#include "operator/k8s/rate_limiter.h"
#include "operator/main/admission.h"
#include "runtime/base/log.h"

namespace tensorfleet::operator_main {
namespace {

using nlohmann::json;

StatusOr<std::string> ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("cannot read ", path);
  return text.str();
}

std::string VersionOf(const json& object) {
  const auto meta = object.find("metadata");
  if (meta == object.end() || !meta->is_object()) return "";
  const auto version = meta->find("resourceVersion");
  return version != meta->end() && version->is_string() ? version->get<std::string>() : "";
}

std::string Decoded(const json& data, const char* key) {
  const auto it = data.find(key);
  std::string decoded;
  if (it == data.end() || !it->is_string() ||
      !absl::Base64Unescape(it->get<std::string>(), &decoded))
    return "";
  return decoded;
}

// Whether an entry of a ValidatingWebhookConfiguration is ours. Others may stand in the same
// configuration, with an authority of their own: a training-operator's for its other kinds.
bool CallsUs(const json& webhook, const CertificateKeeperOptions& options) {
  if (!webhook.is_object() || !webhook.contains("clientConfig")) return false;
  const json& config = webhook["clientConfig"];
  if (!config.is_object()) return false;
  const auto text = [](const json& object, const char* key) -> std::string {
    const auto it = object.find(key);
    return it != object.end() && it->is_string() ? it->get<std::string>() : "";
  };
  // By URL from outside the cluster: the path says whose it is.
  if (const std::string url = text(config, "url"); !url.empty())
    return absl::EndsWith(url, kAdmissionPath);
  const auto service = config.find("service");
  return service != config.end() && service->is_object() &&
         text(*service, "name") == options.service && text(*service, "namespace") == options.ns &&
         text(*service, "path") == kAdmissionPath;
}

}  // namespace

CertificateKeeper::CertificateKeeper(k8s::Client* client, const Clock* clock,
                                     CertificateKeeperOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {}

CertificateKeeper::~CertificateKeeper() { Stop(); }

void CertificateKeeper::Start() {
  thread_ = std::thread([this] {
    auto wait = std::chrono::seconds(1);
    while (!cancel_.is_cancelled()) {
      const Status status = Refresh();
      if (!status.ok() && !cancel_.is_cancelled()) {
        LogError("webhook certificates", {{"error", status.message()}});
      }
      wait = status.ok() ? options_.check_every : std::min(wait * 2, std::chrono::seconds(60));
      if (!k8s::SleepFor(wait, &cancel_).ok()) return;
    }
  });
}

void CertificateKeeper::Stop() {
  cancel_.StartCancel();
  if (thread_.joinable()) thread_.join();
}

Status CertificateKeeper::Refresh() {
  const Status status = options_.folder.empty() ? RefreshFromSecret() : RefreshFromFolder();
  MutexLock lock(&mu_);
  ++reads_;
  if (!status.ok()) ++read_errors_;
  return status;
}

Status CertificateKeeper::Use(const std::string& certificate_pem, const std::string& key_pem) {
  {
    MutexLock lock(&mu_);
    if (context_ != nullptr && in_use_ == certificate_pem) return OkStatus();
  }
  TFLEET_ASSIGN_OR_RETURN(auto context, http::ServerContext(certificate_pem, key_pem));
  LogInfo("webhook certificate in use",
          {{"until", absl::FormatTime(NotAfter(certificate_pem).value_or(absl::InfinitePast()))}});
  MutexLock lock(&mu_);
  context_ = std::move(context);
  in_use_ = certificate_pem;
  return OkStatus();
}

Status CertificateKeeper::RefreshFromFolder() {
  TFLEET_ASSIGN_OR_RETURN(const std::string certificate, ReadFile(options_.folder + "/tls.crt"));
  TFLEET_ASSIGN_OR_RETURN(const std::string key, ReadFile(options_.folder + "/tls.key"));
  return Use(certificate, key);
}

StatusOr<CertificateSet> CertificateKeeper::ReadSecret(std::string* version) {
  version->clear();
  CertificateSet set;
  const auto text =
      client_->Get(k8s::ObjectPath("v1", options_.ns, "secrets", options_.secret_name));
  if (absl::IsNotFound(text.status())) return set;
  TFLEET_RETURN_IF_ERROR(text.status());
  const json secret = json::parse(*text, nullptr, false);
  if (!secret.is_object()) return DataLoss("secret ", options_.secret_name, " cannot be read");
  *version = VersionOf(secret);
  const json data = secret.value("data", json::object());
  if (!data.is_object()) return set;  // the empty Secret that manifests make
  set.ca_certificate = Decoded(data, "ca.crt");
  set.ca_key = Decoded(data, "ca.key");
  set.server_certificate = Decoded(data, "tls.crt");
  set.server_key = Decoded(data, "tls.key");
  return set;
}

Status CertificateKeeper::WriteSecret(const CertificateSet& set, const std::string& version) {
  const json data = {{"ca.crt", absl::Base64Escape(set.ca_certificate)},
                     {"ca.key", absl::Base64Escape(set.ca_key)},
                     {"tls.crt", absl::Base64Escape(set.server_certificate)},
                     {"tls.key", absl::Base64Escape(set.server_key)}};
  if (version.empty()) {
    const json secret = {{"apiVersion", "v1"},
                         {"kind", "Secret"},
                         {"metadata", {{"name", options_.secret_name}, {"namespace", options_.ns}}},
                         {"data", data}};
    return client_->Create(k8s::CollectionPath("v1", options_.ns, "secrets"), secret.dump())
        .status();
  }
  // Another replica may be doing the same: the version makes one of us lose, and read the other's.
  const json patch = {{"metadata", {{"resourceVersion", version}}}, {"data", data}};
  return client_
      ->MergePatch(k8s::ObjectPath("v1", options_.ns, "secrets", options_.secret_name),
                   patch.dump())
      .status();
}

Status CertificateKeeper::RefreshFromSecret() {
  for (int attempt = 0;; ++attempt) {
    std::string version;
    TFLEET_ASSIGN_OR_RETURN(CertificateSet set, ReadSecret(&version));
    const absl::Time now = absl::FromUnixNanos(clock_->NowUnixNanos());
    const Renewal renewal = NeededRenewal(set, options_.names, now);
    if (renewal != Renewal::kNone) {
      if (renewal == Renewal::kAll) {
        TFLEET_ASSIGN_OR_RETURN(set, MakeCertificates(options_.names, now));
      } else {
        TFLEET_RETURN_IF_ERROR(RenewServer(options_.names, now, &set));
      }
      const Status stored = WriteSecret(set, version);
      if ((k8s::IsConflict(stored) || k8s::IsNameTaken(stored)) && attempt < 5) continue;
      TFLEET_RETURN_IF_ERROR(stored);
      LogInfo("webhook certificates made",
              {{"secret", absl::StrCat(options_.ns, "/", options_.secret_name)},
               {"authority_too", renewal == Renewal::kAll}});
    }
    // First usable, then trusted: nobody is sent to a server that cannot answer.
    TFLEET_RETURN_IF_ERROR(Use(set.server_certificate, set.server_key));
    return PublishAuthority(set.ca_certificate);
  }
}

Status CertificateKeeper::PublishAuthority(const std::string& ca_pem) {
  const std::string path = k8s::ObjectPath("admissionregistration.k8s.io/v1", "",
                                           "validatingwebhookconfigurations", options_.config_name);
  const std::string bundle = absl::Base64Escape(ca_pem);
  for (int attempt = 0;; ++attempt) {
    const auto text = client_->Get(path);
    if (absl::IsNotFound(text.status())) return OkStatus();  // nobody calls us yet
    TFLEET_RETURN_IF_ERROR(text.status());
    json config = json::parse(*text, nullptr, false);
    if (!config.is_object() || !config.contains("webhooks") || !config["webhooks"].is_array())
      return OkStatus();
    bool changed = false, found = false;
    for (json& webhook : config["webhooks"]) {
      if (!CallsUs(webhook, options_)) continue;
      found = true;
      json& held = webhook["clientConfig"]["caBundle"];
      if (held == bundle) continue;
      held = bundle;
      changed = true;
    }
    if (!found) {
      return FailedPrecondition("no entry of ValidatingWebhookConfiguration ", options_.config_name,
                                " calls service ", options_.ns, "/", options_.service, " at ",
                                kAdmissionPath, ": nobody gets our authority");
    }
    if (!changed) return OkStatus();
    const json patch = {{"metadata", {{"resourceVersion", VersionOf(config)}}},
                        {"webhooks", config["webhooks"]}};
    const Status patched = client_->MergePatch(path, patch.dump()).status();
    if (k8s::IsConflict(patched) && attempt < 5) continue;
    if (patched.ok())
      LogInfo("webhook configuration has our authority", {{"name", options_.config_name}});
    return patched;
  }
}

std::shared_ptr<SSL_CTX> CertificateKeeper::context() const {
  MutexLock lock(&mu_);
  return context_;
}

int64_t CertificateKeeper::reads() const {
  MutexLock lock(&mu_);
  return reads_;
}

int64_t CertificateKeeper::read_errors() const {
  MutexLock lock(&mu_);
  return read_errors_;
}

}  // namespace tensorfleet::operator_main
