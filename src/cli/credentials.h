// The daemon's certificate and token, kept in the data directory, and the kubeconfig made of them.
#pragma once

#include "base/random.h"
#include "base/result.h"
#include "base/time.h"
#include "cli/paths.h"

#include <cstdint>
#include <string>

namespace manta::cli {

struct Credentials {
  std::string certificate_pem = {};
  std::string private_key_pem = {};
  std::string token = {};
};

/// Those of the last run, so that a kubeconfig stays valid; made when missing. Fails when they
/// cannot be used, with the file and what to do. `service_ip`: the `kubernetes` Service's.
Result<Credentials> load_or_make_credentials(const Paths& paths, const std::string& service_ip,
                                             Time now, Random& random);

/// For 127.0.0.1:port; readable by the owner only.
Result<void> write_kubeconfig(const Paths& paths, const Credentials& credentials,
                              std::uint16_t port);

}  // namespace manta::cli
