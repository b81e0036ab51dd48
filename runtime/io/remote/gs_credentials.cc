#include "runtime/io/remote/gs_credentials.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "runtime/base/small_file.h"
#include "runtime/io/remote/http_client.h"

namespace tensorfleet {
namespace {

using nlohmann::json;

constexpr absl::string_view kScope = "https://www.googleapis.com/auth/devstorage.read_write";
constexpr absl::string_view kTokenUri = "https://oauth2.googleapis.com/token";

// "" where there is none, or it is no string.
std::string Text(const json& object, const char* name) {
  const auto found = object.find(name);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

json Parsed(const std::string& text) {
  return json::parse(text, nullptr, /*allow_exceptions=*/false);
}

// {"access_token": …, "expires_in": seconds}
StatusOr<Lent<std::string>> TokenIn(const HttpResponse& response, absl::string_view what) {
  const json answer = Parsed(response.body);
  if (!IsSuccess(response)) {
    return HttpError(response, what, answer.is_object() ? Text(answer, "error_description") : "");
  }
  const std::string token = answer.is_object() ? Text(answer, "access_token") : "";
  if (token.empty()) return Unavailable(what, "; the answer has no access_token");
  const auto seconds = answer.find("expires_in");
  const bool has_end = seconds != answer.end() && seconds->is_number();
  return Lent<std::string>{token,
                           absl::Now() + absl::Seconds(has_end ? seconds->get<double>() : 3600.0)};
}

StatusOr<Lent<std::string>> PostForm(const std::string& url,
                                     const std::map<std::string, std::string>& form) {
  const std::string body = EncodedQuery(form);
  HttpRequest request;
  request.scheme = "gs";
  request.method = "POST";
  request.url = url;
  request.headers["content-type"] = "application/x-www-form-urlencoded";
  request.body = body;
  request.most_bytes = 1 << 20;
  const std::string what = absl::StrCat("an access token from ", url);
  TFLEET_ASSIGN_OR_RETURN(const HttpResponse response, SendHttp(request, what));
  return TokenIn(response, what);
}

StatusOr<std::string> SignedByRs256(const std::string& text, const std::string& pem) {
  const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
      BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())), &BIO_free);
  const std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)> key(
      PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr), &EVP_PKEY_free);
  const std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context(EVP_MD_CTX_new(),
                                                                        &EVP_MD_CTX_free);
  const auto* bytes = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  if (key == nullptr || EVP_PKEY_base_id(key.get()) != EVP_PKEY_RSA ||
      EVP_DigestSignInit(context.get(), nullptr, EVP_sha256(), nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), nullptr, &size, bytes, text.size()) != 1) {
    return FailedPrecondition("its private_key is no RSA key in PEM form");
  }
  std::vector<unsigned char> signature(size);
  if (EVP_DigestSign(context.get(), signature.data(), &size, bytes, text.size()) != 1) {
    return Internal("signing failed");
  }
  return std::string(signature.begin(), signature.begin() + static_cast<std::ptrdiff_t>(size));
}

StatusOr<Lent<std::string>> ByServiceAccount(const json& file) {
  std::string url = Text(file, "token_uri");
  if (url.empty()) url = std::string(kTokenUri);
  const int64_t now = absl::ToUnixSeconds(absl::Now());
  const json header = {{"alg", "RS256"}, {"typ", "JWT"}, {"kid", Text(file, "private_key_id")}};
  const json claims = {{"iss", Text(file, "client_email")},
                       {"scope", std::string(kScope)},
                       {"aud", url},
                       {"iat", now},
                       {"exp", now + 3600}};
  const auto dump = [](const json& value) {
    return absl::WebSafeBase64Escape(value.dump(-1, ' ', false, json::error_handler_t::replace));
  };
  const std::string text = absl::StrCat(dump(header), ".", dump(claims));
  TFLEET_ASSIGN_OR_RETURN(const std::string signature,
                          SignedByRs256(text, Text(file, "private_key")));
  return PostForm(url,
                  {{"grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"},
                   {"assertion", absl::StrCat(text, ".", absl::WebSafeBase64Escape(signature))}});
}

StatusOr<Lent<std::string>> ByUser(const json& file) {
  return PostForm(std::string(kTokenUri), {{"grant_type", "refresh_token"},
                                           {"client_id", Text(file, "client_id")},
                                           {"client_secret", Text(file, "client_secret")},
                                           {"refresh_token", Text(file, "refresh_token")}});
}

// The token of another identity provider, which Google takes for its own.
StatusOr<std::string> SubjectToken(const json& source) {
  std::string text;
  if (const std::string file = Text(source, "file"); !file.empty()) {
    TFLEET_ASSIGN_OR_RETURN(text, ReadSmallFile(file));
  } else if (const std::string url = Text(source, "url"); !url.empty()) {
    HttpRequest request;
    request.scheme = "gs";
    request.url = url;
    request.most_bytes = 1 << 20;
    if (const auto headers = source.find("headers");
        headers != source.end() && headers->is_object()) {
      for (const auto& [name, value] : headers->items()) {
        if (value.is_string()) request.headers[name] = value.get<std::string>();
      }
    }
    const std::string what = absl::StrCat("a subject token from ", url);
    TFLEET_ASSIGN_OR_RETURN(HttpResponse response, SendHttp(request, what));
    if (!IsSuccess(response)) return HttpError(response, what, "");
    text = std::move(response.body);
  } else {
    return Unimplemented("its credential_source is neither a file nor a url");
  }
  const auto format = source.find("format");
  if (format != source.end() && format->is_object() && Text(*format, "type") == "json") {
    const json answer = Parsed(text);
    const std::string field = Text(*format, "subject_token_field_name");
    text = answer.is_object() ? Text(answer, field.c_str()) : "";
  }
  const std::string token(absl::StripAsciiWhitespace(text));
  if (token.empty()) return FailedPrecondition("its credential_source gave no token");
  return token;
}

StatusOr<Lent<std::string>> ByExternalAccount(const json& file) {
  const auto source = file.find("credential_source");
  if (source == file.end() || !source->is_object()) {
    return FailedPrecondition("it has no credential_source");
  }
  if (!Text(file, "service_account_impersonation_url").empty()) {
    return Unimplemented(
        "service_account_impersonation_url is not supported: grant the bucket to the external "
        "identity itself");
  }
  TFLEET_ASSIGN_OR_RETURN(const std::string subject, SubjectToken(*source));
  return PostForm(Text(file, "token_url"),
                  {{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
                   {"requested_token_type", "urn:ietf:params:oauth:token-type:access_token"},
                   {"audience", Text(file, "audience")},
                   {"scope", std::string(kScope)},
                   {"subject_token_type", Text(file, "subject_token_type")},
                   {"subject_token", subject}});
}

StatusOr<Lent<std::string>> ByFile(const std::string& path) {
  TFLEET_ASSIGN_OR_RETURN(const std::string text, ReadSmallFile(path));
  const json file = Parsed(text);
  if (!file.is_object()) return FailedPrecondition(path, " is no JSON object");
  const std::string type = Text(file, "type");
  StatusOr<Lent<std::string>> token =
      type == "service_account"    ? ByServiceAccount(file)
      : type == "authorized_user"  ? ByUser(file)
      : type == "external_account" ? ByExternalAccount(file)
                                   : Unimplemented("credentials of type '", type,
                                                   "' are not supported: service_account, "
                                                   "authorized_user and external_account are");
  if (!token.ok()) return Prefixed(absl::StrCat(path, "; "), token.status());
  return token;
}

StatusOr<Lent<std::string>> ByMetadata(const std::string& url) {
  HttpRequest request;
  request.scheme = "gs";
  request.url = absl::StrCat(url, "/computeMetadata/v1/instance/service-accounts/default/token");
  request.headers["metadata-flavor"] = "Google";
  request.most_bytes = 1 << 20;
  request.connect_seconds = 1;
  request.silent_seconds = 5;
  const std::string what = absl::StrCat("an access token from ", request.url);
  const StatusOr<HttpResponse> response = SendHttp(request, what, /*attempts=*/3);
  if (absl::IsUnavailable(response.status())) {
    // The machine is in no cloud of Google's. Asked again after a while.
    return Lent<std::string>{"", absl::Now() + absl::Minutes(10)};
  }
  TFLEET_RETURN_IF_ERROR(response.status());
  return TokenIn(*response, what);
}

}  // namespace

StatusOr<std::string> GsTokenSource::Get() {
  if (identity_.file.empty() && identity_.metadata_url.empty()) return std::string();
  return lent_.Get([this] {
    return identity_.file.empty() ? ByMetadata(identity_.metadata_url) : ByFile(identity_.file);
  });
}

}  // namespace tensorfleet
