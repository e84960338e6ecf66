// Where a request goes and what it says, as pure functions. Internal to the API client.
#pragma once

#include "kube/api.h"

#include <string>

namespace manta::kube {

/// /api/v1/namespaces/n/pods/p/log or /apis/group/version/…, percent-encoded.
std::string path_of(const Resource& resource, std::string_view namespace_, std::string_view name,
                    std::string_view subresource);
/// Path and query of a call, from the server's root.
std::string target_of(const Request& request);
std::string target_of(const WatchRequest& request);
std::string method_of(Verb verb);
/// The body's text and its Content-Type; both empty when there is none.
struct Payload {
  std::string content_type = {};
  std::string text = {};
};
Payload payload_of(const Request& request);
/// The text of a Warning header: 299 - "text".
std::string warning_text(std::string_view header);

}  // namespace manta::kube
