#include "runtime/io/remote/s3_credentials.h"

#include <nlohmann/json.hpp>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/small_file.h"
#include "runtime/io/remote/http_client.h"
#include "runtime/io/remote/xml.h"

namespace tensorfleet {
namespace {

constexpr size_t kMostAnswer = 1 << 20;

HttpRequest Ask(std::string method, std::string url) {
  HttpRequest request;
  request.scheme = "s3";
  request.method = std::move(method);
  request.url = std::move(url);
  request.most_bytes = kMostAnswer;
  return request;
}

StatusOr<std::string> TokenIn(const std::string& file) {
  TFLEET_ASSIGN_OR_RETURN(const std::string token, ReadSmallFile(file));
  return std::string(absl::StripAsciiWhitespace(token));
}

StatusOr<Lent<S3Credentials>> Checked(S3Credentials keys, const std::string& until,
                                      absl::string_view from) {
  Lent<S3Credentials> lent{std::move(keys)};
  std::string error;
  if (lent.value.access_key.empty() || lent.value.secret_key.empty()) {
    return Unavailable(from, " gave no credentials");
  }
  if (!absl::ParseTime(absl::RFC3339_full, until, &lent.until, &error)) {
    return Unavailable(from, " gave credentials that end at '", until, "'");
  }
  return lent;
}

// {"AccessKeyId": …}, as agents and metadata services answer.
StatusOr<Lent<S3Credentials>> FromJson(const std::string& body, absl::string_view from) {
  const auto json = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return Unavailable(from, " answered with something that is no JSON");
  const auto text = [&json](const char* name) {
    const auto found = json.find(name);
    return found != json.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  return Checked({text("AccessKeyId"), text("SecretAccessKey"), text("Token")}, text("Expiration"),
                 from);
}

StatusOr<Lent<S3Credentials>> ByWebIdentity(const S3Identity& identity) {
  TFLEET_ASSIGN_OR_RETURN(const std::string token, TokenIn(identity.token_file));
  HttpRequest request = Ask("POST", absl::StrCat(identity.sts_endpoint, "/"));
  request.headers["content-type"] = "application/x-www-form-urlencoded";
  const std::string form = EncodedQuery({{"Action", "AssumeRoleWithWebIdentity"},
                                         {"Version", "2011-06-15"},
                                         {"RoleArn", identity.role},
                                         {"RoleSessionName", identity.role_session},
                                         {"WebIdentityToken", token}});
  request.body = form;
  const std::string what = absl::StrCat("credentials for ", identity.role, " from ", request.url);
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse response, SendHttp(request, what));
  if (!IsSuccess(response)) return HttpError(response, what, XmlText(response.body, "Message"));
  return Checked({XmlText(response.body, "AccessKeyId"), XmlText(response.body, "SecretAccessKey"),
                  XmlText(response.body, "SessionToken")},
                 XmlText(response.body, "Expiration"), request.url);
}

StatusOr<Lent<S3Credentials>> ByAgent(const S3Identity& identity) {
  HttpRequest request = Ask("GET", identity.agent_url);
  std::string token = identity.agent_token;
  if (!identity.agent_token_file.empty()) {
    TFLEET_ASSIGN_OR_RETURN(token, TokenIn(identity.agent_token_file));
  }
  if (!token.empty()) request.headers["authorization"] = token;
  const std::string what = absl::StrCat("credentials from ", request.url);
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse response, SendHttp(request, what));
  if (!IsSuccess(response)) return HttpError(response, what, "");
  return FromJson(response.body, request.url);
}

// The second version of the service, which wants a token; the first would answer anybody on the
// machine.
StatusOr<Lent<S3Credentials>> ByMetadata(const S3Identity& identity) {
  const std::string what = absl::StrCat("credentials from ", identity.metadata_url);
  HttpRequest request = Ask("PUT", absl::StrCat(identity.metadata_url, "/latest/api/token"));
  request.headers["x-aws-ec2-metadata-token-ttl-seconds"] = "21600";
  request.connect_seconds = 1;
  request.silent_seconds = 2;
  const StatusOr<HttpResponse> token = SendHttp(request, what, /*attempts=*/2);
  if (absl::IsUnavailable(token.status()) || (token.ok() && token->code == 404)) {
    // No such service: the machine is in no cloud of Amazon's. Asked again after a while.
    return Lent<S3Credentials>{{}, absl::Now() + absl::Minutes(10)};
  }
  TFLEET_RETURN_IF_ERROR(token.status());
  if (!IsSuccess(*token)) return HttpError(*token, what, "");
  const std::string roles =
      absl::StrCat(identity.metadata_url, "/latest/meta-data/iam/security-credentials/");
  request = Ask("GET", roles);
  request.headers["x-aws-ec2-metadata-token"] = token->body;
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse names, SendHttp(request, what));
  if (names.code == 404) return Lent<S3Credentials>{{}, absl::Now() + absl::Minutes(10)};
  if (!IsSuccess(names)) return HttpError(names, what, "");
  const absl::string_view role =
      absl::StripAsciiWhitespace(absl::string_view(names.body).substr(0, names.body.find('\n')));
  absl::StrAppend(&request.url, UriEncoded(role, /*keep_slashes=*/false));
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse keys, SendHttp(request, what));
  if (!IsSuccess(keys)) return HttpError(keys, what, "");
  return FromJson(keys.body, request.url);
}

}  // namespace

S3Identity S3IdentityFromEnv(const char* (*env)(const char* name), const std::string& region,
                             bool is_amazon) {
  const auto text = [env](const char* name) -> std::string {
    const char* const value = env(name);
    return value == nullptr ? "" : value;
  };
  S3Identity identity;
  identity.keys = {text("AWS_ACCESS_KEY_ID"), text("AWS_SECRET_ACCESS_KEY"),
                   text("AWS_SESSION_TOKEN")};
  identity.token_file = text("AWS_WEB_IDENTITY_TOKEN_FILE");
  identity.role = text("AWS_ROLE_ARN");
  identity.role_session = text("AWS_ROLE_SESSION_NAME");
  if (identity.role_session.empty()) identity.role_session = "tensorfleet";
  identity.sts_endpoint = std::string(absl::StripSuffix(text("AWS_ENDPOINT_URL_STS"), "/"));
  if (identity.sts_endpoint.empty()) {
    identity.sts_endpoint = absl::StrCat("https://sts.", region, ".amazonaws.com");
  }
  identity.agent_url = text("AWS_CONTAINER_CREDENTIALS_FULL_URI");
  if (const std::string path = text("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); !path.empty()) {
    identity.agent_url = absl::StrCat("http://169.254.170.2", path);
  }
  identity.agent_token = text("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  identity.agent_token_file = text("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  identity.metadata_url =
      std::string(absl::StripSuffix(text("AWS_EC2_METADATA_SERVICE_ENDPOINT"), "/"));
  if (identity.metadata_url.empty() && is_amazon) identity.metadata_url = "http://169.254.169.254";
  if (absl::EqualsIgnoreCase(text("AWS_EC2_METADATA_DISABLED"), "true")) {
    identity.metadata_url.clear();
  }
  return identity;
}

StatusOr<S3Credentials> S3CredentialSource::Get() {
  if (!identity_.keys.access_key.empty()) return identity_.keys;
  const bool has_token = !identity_.token_file.empty();
  if (has_token && identity_.role.empty()) {
    return FailedPrecondition("AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not");
  }
  const bool has_agent = !identity_.agent_url.empty();
  if (!has_token && !has_agent && identity_.metadata_url.empty()) return S3Credentials();
  return lent_.Get([this, has_token, has_agent]() -> StatusOr<Lent<S3Credentials>> {
    if (has_token) return ByWebIdentity(identity_);
    return has_agent ? ByAgent(identity_) : ByMetadata(identity_);
  });
}

}  // namespace tensorfleet
