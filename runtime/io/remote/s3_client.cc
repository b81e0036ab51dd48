#include "runtime/io/remote/s3_client.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/io/remote/xml.h"
#include "runtime/io/sha256.h"

namespace tensorfleet {
namespace {

constexpr absl::string_view kAdvice =
    " (credentials come from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from the pod's or the "
    "machine's identity)";

}  // namespace

S3Config S3ConfigFromEnv(const char* (*env)(const char* name)) {
  const auto first = [&](std::initializer_list<const char*> names) -> std::string {
    for (const char* name : names) {
      const char* const value = env(name);
      if (value != nullptr && *value != '\0') return value;
    }
    return "";
  };
  S3Config config;
  config.region = first({"AWS_REGION", "AWS_DEFAULT_REGION"});
  if (config.region.empty()) config.region = "us-east-1";
  config.endpoint = first({"AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"});
  if (const std::string host = first({"S3_ENDPOINT"}); config.endpoint.empty() && !host.empty()) {
    const std::string scheme = first({"S3_USE_HTTPS"}) == "0" ? "http://" : "https://";
    config.endpoint = absl::StrContains(host, "://") ? host : absl::StrCat(scheme, host);
  }
  config.endpoint = std::string(absl::StripSuffix(config.endpoint, "/"));
  config.identity = S3IdentityFromEnv(env, config.region, config.endpoint.empty());
  return config;
}

StatusOr<HttpResponse> S3Client::Call(S3Request request, const std::string& bucket,
                                      const std::string& key, absl::string_view body,
                                      int attempts) const {
  HttpRequest http;
  http.scheme = "s3";
  http.method = std::move(request.method);
  http.headers = std::move(request.headers);
  http.body = body;
  if (config_.endpoint.empty()) {
    http.url = absl::StrCat("https://", bucket, ".s3.", config_.region, ".amazonaws.com/",
                            UriEncoded(key, true));
  } else if (absl::StrContains(config_.endpoint, "://")) {
    http.url = absl::StrCat(config_.endpoint, "/", UriEncoded(bucket, true), key.empty() ? "" : "/",
                            UriEncoded(key, true));
  } else {
    return InvalidArgument("the S3 endpoint '", config_.endpoint,
                           "' must begin with http:// or https://");
  }
  // Signatures are made of exactly this form, and libcurl before 8.0 signs the query as it is
  // given.
  if (!request.query.empty()) absl::StrAppend(&http.url, "?", EncodedQuery(request.query));
  const std::string what = absl::StrCat("s3://", bucket, "/", key);
  StatusOr<S3Credentials> credentials = credentials_.Get();
  if (!credentials.ok()) return Prefixed(absl::StrCat(what, "; "), credentials.status());
  if (!credentials->access_key.empty()) {
    http.signing_scope = absl::StrCat("aws:amz:", config_.region, ":s3");
    http.signing_key = credentials->access_key;
    http.signing_secret = credentials->secret_key;
    // libcurl signs headers without a value, too, though it does not send them.
    http.headers["x-amz-content-sha256"] = Sha256Hex(body);
    if (!credentials->session_token.empty()) {
      http.headers["x-amz-security-token"] = credentials->session_token;
    }
  }
  TFLEET_ASSIGN_OR_RETURN(HttpResponse response, SendHttp(http, what, attempts));
  if (IsSuccess(response)) return response;
  return HttpError(response, what, XmlText(response.body, "Message"), kAdvice);
}

}  // namespace tensorfleet
