// SPDX-License-Identifier: Apache-2.0
//
// Certificates for tests: an authority, and what it signs.
#pragma once

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <memory>
#include <string>

namespace tranche::kube {

struct SignedCertificate {
  std::string certificate;  // PEM
  std::string key;
};

class Authority {
 public:
  Authority();
  const std::string& pem() const { return pem_; }
  // `names` as OpenSSL writes them: "IP:127.0.0.1,DNS:localhost".
  SignedCertificate sign(const std::string& common_name, const std::string& names) const;

 private:
  struct Free {
    void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
    void operator()(X509* certificate) const { X509_free(certificate); }
  };
  std::unique_ptr<EVP_PKEY, Free> key_;
  std::unique_ptr<X509, Free> certificate_;
  std::string pem_;
};

}  // namespace tranche::kube
