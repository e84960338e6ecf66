// URLs, percent-encoding, proxies' exceptions and request targets.
#include "fuzz/fuzz.h"
#include "kube/http_api_path.h"
#include "kube/http_url.h"

using namespace manta;
using namespace manta::fuzz;
using kube::Url;

static std::string decoded(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i)
    if (text[i] == '%' && i + 2 < text.size()) {
      out += static_cast<char>(std::stoi(std::string(text.substr(i + 1, 2)), nullptr, 16));
      i += 2;
    } else {
      out += text[i];
    }
  return out;
}

static void check_url(std::string_view text) {
  const auto url = kube::parse_url(text);
  if (!url) return;
  FUZZ_CHECK(url->port != 0 && !url->host.empty() && url->target.starts_with('/'), text);
  FUZZ_CHECK(url->scheme == "http" || url->scheme == "https", text);
  // What goes into the request line and the Host header cannot break out of its line.
  for (const auto& part : {url->target, url->authority(), url->host_port()})
    for (const char c : part) FUZZ_CHECK(static_cast<unsigned char>(c) > 0x20 && c != 0x7f, text);
  const auto again = kube::parse_url(url->origin() + url->target);
  FUZZ_CHECK(again.has_value(), text, url->origin() + url->target);
  FUZZ_CHECK(again->host == url->host && again->port == url->port && again->target == url->target,
             text, again->host, again->target);
  FUZZ_CHECK(again->origin() == url->origin(), text);
  FUZZ_CHECK(kube::is_without_proxy("*", *url), text);
  FUZZ_CHECK(!kube::is_without_proxy("", *url), text);
}

static void check_target(Input& in) {
  kube::Request request{.resource = {.group = std::string(in.one_of({"", "ray.io"})),
                                     .version = "v1",
                                     .plural = "pods",
                                     .kind = "Pod",
                                     .namespaced = in.flag()},
                        .namespace_ = in.bytes(12),
                        .name = in.bytes(12),
                        .subresource = in.bytes(12),
                        .label_selector = in.bytes(12),
                        .continue_ = in.bytes(12)};
  request.verb = static_cast<kube::Verb>(in.number(0, 6));
  const auto target = kube::target_of(request);
  FUZZ_CHECK(target.starts_with("/api"), target);
  for (const char c : target) FUZZ_CHECK(c > 0x20 && c < 0x7f && c != '#', target);
  FUZZ_CHECK(std::count(target.begin(), target.end(), '?') <= 1, target);
  (void)kube::payload_of(request);
}

FUZZ(data) {
  check_url(data);
  (void)kube::warning_text(data);
  (void)kube::is_loopback(data);
  const auto encoded = kube::percent_encode(data);
  FUZZ_CHECK(decoded(encoded) == data, encoded);

  Input in(data);
  check_target(in);
  std::string text(in.one_of({"http://", "https://", "HTTPS://", "ftp://"}));
  if (in.rarely(3)) text += in.text(8) + ":" + in.text(8) + "@";
  text += in.flag() ? std::string(in.one_of({"a", "10.0.0.1", "[::1]", "[fe80::1%25eth0]", "x.y"}))
                    : in.text();
  if (in.flag()) text += ":" + std::string(in.one_of({"80", "443", "0", "65536", "", "8080"}));
  if (in.flag()) text += std::string(in.one_of({"/", "/a?b#c", "?a", "#b"})) + in.text();
  check_url(text);
  if (const auto url = kube::parse_url(text)) (void)kube::is_without_proxy(in.rest(), *url);
}
