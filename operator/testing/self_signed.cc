#include "operator/testing/self_signed.h"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "runtime/base/check.h"

namespace tensorfleet::testing {
namespace {

std::string Drain(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, size);
  BIO_free(bio);
  return text;
}

void AddExtension(X509* certificate, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  TFLEET_CHECK(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

}  // namespace

SelfSigned MakeSelfSigned(const std::string& address, const SelfSigned* issuer) {
  static std::atomic<int> made_so_far{0};
  // Names tell authorities apart.
  const std::string common_name = "test " + std::to_string(++made_so_far);
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = X509_new();
  TFLEET_CHECK(key != nullptr && certificate != nullptr);
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -60);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME* name = X509_get_subject_name(certificate);
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  X509_set_issuer_name(certificate, name);
  EVP_PKEY* signer = key;
  if (issuer != nullptr) {
    BIO* in = BIO_new_mem_buf(issuer->certificate_pem.data(), -1);
    X509* authority = PEM_read_bio_X509(in, nullptr, nullptr, nullptr);
    BIO_free(in);
    in = BIO_new_mem_buf(issuer->key_pem.data(), -1);
    signer = PEM_read_bio_PrivateKey(in, nullptr, nullptr, nullptr);
    BIO_free(in);
    TFLEET_CHECK(authority != nullptr && signer != nullptr);
    X509_set_issuer_name(certificate, X509_get_subject_name(authority));
    X509_free(authority);
  }
  AddExtension(certificate, NID_basic_constraints, "critical,CA:TRUE");
  AddExtension(certificate, NID_subject_alt_name, "IP:" + address);
  TFLEET_CHECK(X509_sign(certificate, signer, EVP_sha256()) > 0);
  if (signer != key) EVP_PKEY_free(signer);
  BIO* out = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(out, certificate);
  SelfSigned made;
  made.certificate_pem = Drain(out);
  out = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(out, key, nullptr, nullptr, 0, nullptr, nullptr);
  made.key_pem = Drain(out);
  X509_free(certificate);
  EVP_PKEY_free(key);
  return made;
}

}  // namespace tensorfleet::testing
