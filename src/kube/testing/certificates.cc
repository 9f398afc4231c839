// SPDX-License-Identifier: Apache-2.0
#include "kube/testing/certificates.h"

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdlib>

namespace tranche::kube {
namespace {

void require(bool is_fine) {
  if (!is_fine) std::abort();
}

template <typename Write>
std::string pem_of(Write write) {
  BIO* const memory = BIO_new(BIO_s_mem());
  require(write(memory) == 1);
  char* data = nullptr;
  const long length = BIO_get_mem_data(memory, &data);
  std::string text(data, static_cast<std::size_t>(length));
  BIO_free(memory);
  return text;
}

std::string pem_of(X509* certificate) {
  return pem_of([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

X509* unsigned_certificate(EVP_PKEY* key, const std::string& common_name) {
  static long serial = 0;
  X509* const certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(certificate), -3600);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 3600);
  X509_set_pubkey(certificate, key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(common_name.c_str()), -1, -1,
                             0);
  return certificate;
}

void extend(X509* certificate, int what, const std::string& value) {
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, nullptr, what, value.c_str());
  require(extension != nullptr && X509_add_ext(certificate, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

}  // namespace

Authority::Authority() : key_(EVP_EC_gen("P-256")) {
  certificate_.reset(unsigned_certificate(key_.get(), "test authority"));
  X509_set_issuer_name(certificate_.get(), X509_get_subject_name(certificate_.get()));
  extend(certificate_.get(), NID_basic_constraints, "critical,CA:TRUE");
  require(X509_sign(certificate_.get(), key_.get(), EVP_sha256()) > 0);
  pem_ = pem_of(certificate_.get());
}

SignedCertificate Authority::sign(const std::string& common_name, const std::string& names) const {
  const std::unique_ptr<EVP_PKEY, Free> key(EVP_EC_gen("P-256"));
  const std::unique_ptr<X509, Free> certificate(unsigned_certificate(key.get(), common_name));
  X509_set_issuer_name(certificate.get(), X509_get_subject_name(certificate_.get()));
  if (!names.empty()) extend(certificate.get(), NID_subject_alt_name, names);
  require(X509_sign(certificate.get(), key_.get(), EVP_sha256()) > 0);
  return {pem_of(certificate.get()), pem_of([&](BIO* bio) {
            return PEM_write_bio_PrivateKey(bio, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
          })};
}

}  // namespace tranche::kube
