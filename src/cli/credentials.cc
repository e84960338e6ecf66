#include "cli/credentials.h"

#include "base/hash.h"
#include "base/json.h"
#include "base/yaml.h"
#include "local/apiserver/http_server.h"
#include "local/images/image_index.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace manta::cli {
namespace {

/// Whole or not at all, and never readable by others, not even for a moment.
Result<void> write_secret(const std::filesystem::path& path, const std::string& text) {
  const auto temporary = path.string() + ".tmp";
  const int fd = ::open(temporary.c_str(), O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0600);
  if (fd < 0)
    return failed(ErrorCode::Forbidden,
                  fmt::format("cannot write {}: {}", temporary, std::strerror(errno)));
  const bool written = ::write(fd, text.data(), text.size()) == ssize_t(text.size());
  const int why = errno;
  ::close(fd);
  if (!written || ::rename(temporary.c_str(), path.c_str()) != 0)
    return failed(ErrorCode::Internal, fmt::format("cannot write {}: {}", path.string(),
                                                   std::strerror(written ? errno : why)));
  return {};
}

}  // namespace

Result<Credentials> load_or_make_credentials(const Paths& paths, const std::string& service_ip,
                                             Time now, Random& random) {
  std::error_code code;
  std::filesystem::create_directories(paths.pki(), code);
  const auto certificate = paths.pki() / "server.crt";
  const auto key = paths.pki() / "server.key";
  const auto token = paths.pki() / "token";
  const auto old_certificate = local::read_file(certificate);
  const auto old_key = local::read_file(key);
  const auto old_token = local::read_file(token);
  if (old_certificate && old_key && old_token && !old_token->empty()) {
    auto unusable = [&](std::string_view what) {
      return failed(ErrorCode::Invalid,
                    fmt::format("{}; delete the folder {} and start again: new ones are made, and "
                                "what holds the old kubeconfig needs the new one",
                                what, paths.pki().string()));
    };
    if (auto good = local::check_certificate(*old_certificate, *old_key); !good)
      return unusable(fmt::format("{} and {} are no certificate with its key: {}",
                                  certificate.string(), key.string(), good.error().message));
    if (!std::ranges::all_of(*old_token, [](unsigned char c) { return std::isgraph(c); }))
      return unusable(fmt::format("{} is no token", token.string()));
    return Credentials{*old_certificate, *old_key, *old_token};
  }
  const auto made = local::make_self_signed_certificate(
      {"127.0.0.1", "localhost", service_ip, "kubernetes", "kubernetes.default",
       "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
      now, random);
  if (!made) return failed(made.error().in("making a certificate"));
  std::string secret;
  for (int i = 0; i < 4; ++i) secret += fmt::format("{:016x}", random.next());
  Credentials credentials{made->certificate_pem, made->private_key_pem, std::move(secret)};
  for (const auto& [path, text] :
       {std::pair{certificate, credentials.certificate_pem},
        std::pair{key, credentials.private_key_pem}, std::pair{token, credentials.token}})
    if (auto done = write_secret(path, text); !done) return failed(done.error());
  return credentials;
}

Result<void> write_kubeconfig(const Paths& paths, const Credentials& credentials,
                              std::uint16_t port) {
  auto named = [](std::string_view what, JsonObject content) {
    return JsonArray{JsonObject{{"name", "manta"}, {what, std::move(content)}}};
  };
  const JsonObject config{
      {"apiVersion", "v1"},
      {"kind", "Config"},
      {"clusters", named("cluster", {{"server", fmt::format("https://127.0.0.1:{}", port)},
                                     {"certificate-authority-data",
                                      base64_encode(credentials.certificate_pem)}})},
      {"users", named("user", {{"token", credentials.token}})},
      {"contexts", named("context", {{"cluster", "manta"}, {"user", "manta"}})},
      {"current-context", "manta"}};
  return write_secret(paths.kubeconfig(), dump_yaml(config));
}

}  // namespace manta::cli
