#include "operator/main/certificates.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include <memory>

#include "absl/time/civil_time.h"

namespace tensorfleet::operator_main {
namespace {

struct Free {
  void operator()(BIO* b) const { BIO_free(b); }
  void operator()(X509* x) const { X509_free(x); }
  void operator()(EVP_PKEY* k) const { EVP_PKEY_free(k); }
  void operator()(ASN1_OCTET_STRING* s) const { ASN1_OCTET_STRING_free(s); }
};
using Key = std::unique_ptr<EVP_PKEY, Free>;
using Certificate = std::unique_ptr<X509, Free>;

std::string Contents(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return std::string(data, size);
}

std::string ToPem(X509* certificate) {
  std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate);
  return Contents(bio.get());
}

std::string ToPem(EVP_PKEY* key) {
  std::unique_ptr<BIO, Free> bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return Contents(bio.get());
}

Certificate CertificateFrom(const std::string& pem) {
  std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Certificate(PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr));
}

Key KeyFrom(const std::string& pem) {
  std::unique_ptr<BIO, Free> bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  return Key(PEM_read_bio_PrivateKey(bio.get(), nullptr, nullptr, nullptr));
}

bool IsAddress(const std::string& name) {
  return std::unique_ptr<ASN1_OCTET_STRING, Free>(a2i_IPADDRESS(name.c_str())) != nullptr;
}

bool AddExtension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  if (extension == nullptr) return false;
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
  return true;
}

void AddName(X509_NAME* name, const char* field, const std::string& value) {
  X509_NAME_add_entry_by_txt(name, field, MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(value.data()),
                             static_cast<int>(value.size()), -1, 0);
}

// What both kinds have in common: version, serial number, times, key and names.
StatusOr<Certificate> Begin(EVP_PKEY* key, const std::string& common_name, absl::Time now,
                            absl::Duration life) {
  Certificate certificate(X509_new());
  if (certificate == nullptr) return Internal("X509_new failed");
  X509_set_version(certificate.get(), 2);
  unsigned char serial[16];
  if (RAND_bytes(serial, sizeof(serial)) != 1) return Internal("no randomness for a certificate");
  serial[0] &= 0x7f;
  std::unique_ptr<BIGNUM, decltype(&BN_free)> number(BN_bin2bn(serial, sizeof(serial), nullptr),
                                                     BN_free);
  BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate.get()));
  ASN1_TIME_set(X509_getm_notBefore(certificate.get()), absl::ToTimeT(now - absl::Hours(1)));
  ASN1_TIME_set(X509_getm_notAfter(certificate.get()), absl::ToTimeT(now + life));
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* subject = X509_get_subject_name(certificate.get());
  AddName(subject, "O", "tensorfleet");
  AddName(subject, "CN", common_name.substr(0, 64));
  return certificate;
}

}  // namespace

Status RenewServer(const std::vector<std::string>& names, absl::Time now, CertificateSet* set) {
  const Certificate authority = CertificateFrom(set->ca_certificate);
  const Key authority_key = KeyFrom(set->ca_key);
  const Key key(EVP_EC_gen("P-256"));
  if (authority == nullptr || authority_key == nullptr || key == nullptr) {
    return Internal("the webhook's certificate authority cannot be read");
  }
  TFLEET_ASSIGN_OR_RETURN(const Certificate certificate,
                          Begin(key.get(), names.front(), now, kServerLife));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(authority.get()));
  std::string alternatives;
  for (const std::string& name : names) {
    absl::StrAppend(&alternatives, alternatives.empty() ? "" : ",",
                    IsAddress(name) ? "IP:" : "DNS:", name);
  }
  X509* made = certificate.get();
  if (!AddExtension(made, authority.get(), NID_basic_constraints, "critical,CA:FALSE") ||
      !AddExtension(made, authority.get(), NID_key_usage, "critical,digitalSignature") ||
      !AddExtension(made, authority.get(), NID_ext_key_usage, "serverAuth") ||
      !AddExtension(made, authority.get(), NID_subject_alt_name, alternatives) ||
      X509_sign(made, authority_key.get(), EVP_sha256()) <= 0) {
    return InvalidArgument("cannot make a certificate for ", alternatives);
  }
  set->server_certificate = ToPem(made);
  set->server_key = ToPem(key.get());
  return OkStatus();
}

StatusOr<CertificateSet> MakeCertificates(const std::vector<std::string>& names, absl::Time now) {
  const Key key(EVP_EC_gen("P-256"));
  if (key == nullptr) return Internal("cannot make a key");
  TFLEET_ASSIGN_OR_RETURN(const Certificate certificate,
                          Begin(key.get(), "tensorfleet-operator-ca", now, kAuthorityLife));
  X509* made = certificate.get();
  X509_set_issuer_name(made, X509_get_subject_name(made));
  if (!AddExtension(made, made, NID_basic_constraints, "critical,CA:TRUE") ||
      !AddExtension(made, made, NID_key_usage, "critical,keyCertSign,cRLSign") ||
      !AddExtension(made, made, NID_subject_key_identifier, "hash") ||
      X509_sign(made, key.get(), EVP_sha256()) <= 0) {
    return Internal("cannot sign the certificate authority");
  }
  CertificateSet set;
  set.ca_certificate = ToPem(made);
  set.ca_key = ToPem(key.get());
  TFLEET_RETURN_IF_ERROR(RenewServer(names, now, &set));
  return set;
}

StatusOr<absl::Time> NotAfter(const std::string& pem) {
  const Certificate certificate = CertificateFrom(pem);
  if (certificate == nullptr) return InvalidArgument("not a PEM certificate");
  std::tm when{};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate.get()), &when) != 1) {
    return InvalidArgument("certificate without an end");
  }
  return absl::FromCivil(absl::CivilSecond(when.tm_year + 1900, when.tm_mon + 1, when.tm_mday,
                                           when.tm_hour, when.tm_min, when.tm_sec),
                         absl::UTCTimeZone());
}

Renewal NeededRenewal(const CertificateSet& set, const std::vector<std::string>& names,
                      absl::Time now) {
  const Certificate authority = CertificateFrom(set.ca_certificate);
  const Key authority_key = KeyFrom(set.ca_key);
  if (authority == nullptr || authority_key == nullptr ||
      X509_check_private_key(authority.get(), authority_key.get()) != 1 ||
      NotAfter(set.ca_certificate).value_or(absl::InfinitePast()) < now + kRenewAhead) {
    return Renewal::kAll;
  }
  const Certificate server = CertificateFrom(set.server_certificate);
  const Key server_key = KeyFrom(set.server_key);
  if (server == nullptr || server_key == nullptr ||
      X509_check_private_key(server.get(), server_key.get()) != 1 ||
      X509_verify(server.get(), authority_key.get()) != 1 ||
      NotAfter(set.server_certificate).value_or(absl::InfinitePast()) < now + kRenewAhead) {
    return Renewal::kServer;
  }
  for (const std::string& name : names) {
    const bool covered =
        IsAddress(name) ? X509_check_ip_asc(server.get(), name.c_str(), 0) == 1
                        : X509_check_host(server.get(), name.data(), name.size(), 0, nullptr) == 1;
    if (!covered) return Renewal::kServer;
  }
  return Renewal::kNone;
}

}  // namespace tensorfleet::operator_main
