// A server's certificate and key in files that somebody renews, cert-manager for one.
#pragma once

#include "base/result.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace boost::asio::ssl {
class context;
}

namespace manta::operator_ {

class ServerCertificates {
 public:
  /// Fails when they cannot be read, or do not belong together.
  static Result<std::shared_ptr<ServerCertificates>> load(std::string certificate_file,
                                                          std::string key_file);

  /// For a connection that begins now: the files are read again when they have changed. What cannot
  /// be read then is logged, once for each change, and the last good pair goes on.
  std::shared_ptr<boost::asio::ssl::context> current();

  /// How often they were read, and how often that failed.
  std::uint64_t reads() const { return reads_; }
  std::uint64_t read_errors() const { return read_errors_; }

 private:
  ServerCertificates(std::string certificate_file, std::string key_file)
      : certificate_file_(std::move(certificate_file)), key_file_(std::move(key_file)) {}
  Result<void> read();
  std::string stamp() const;  // differs when a file does

  std::string certificate_file_;
  std::string key_file_;
  std::string stamp_ = {};
  std::shared_ptr<boost::asio::ssl::context> context_ = {};
  std::uint64_t reads_ = 0;
  std::uint64_t read_errors_ = 0;
};

}  // namespace manta::operator_
