// The one seam to Kubernetes. Everything above it runs unchanged on a real API server (http_api.h),
// on the embedded one in process (local/apiserver), and on either with injected faults
// (fault_api.h).
//
// An implementation provides call(), watch() and raw(); the rest are conveniences over call().
// Errors that the server answers arrive with the ErrorCode of their Status reason, its message, its
// causes and HTTP status. Timeout and Unavailable mean that a write may or may not have happened.
#pragma once

#include "base/json.h"
#include "base/result.h"
#include "base/task.h"
#include "base/time.h"
#include "kube/object.h"

#include <functional>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace manta::kube {

enum class Verb { Get, List, Create, Update, Patch, Delete, DeleteCollection };
std::string_view to_string(Verb verb);  // as Kubernetes writes it: "deletecollection"
enum class PatchType { Json, Merge, Strategic, Apply };
enum class Propagation { Default, Orphan, Background, Foreground };

struct Request {
  Verb verb = Verb::Get;
  Resource resource = {};
  std::string namespace_ = {};  // empty: cluster scope, or every namespace for List
  std::string name = {};        // empty for List, Create, DeleteCollection
  std::string subresource = {};
  Json body = {};  // object, patch, or null; never DeleteOptions, which the next fields give
  PatchType patch_type = PatchType::Merge;

  // Delete: what the object must be for the delete to happen; empty means any.
  std::string precondition_uid = {};
  std::string precondition_resource_version = {};
  Propagation propagation = Propagation::Default;
  std::optional<std::int64_t> grace_period_seconds = {};

  // List, DeleteCollection.
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};  // "" reads the newest state
  std::string resource_version_match = {};
  std::int64_t limit = 0;
  std::string continue_ = {};

  // Writes.
  std::string field_manager = {};
  std::string field_validation = {};  // Ignore, Warn, Strict; "" is the server's default
  bool force = false;                 // Apply: take over conflicting fields
  bool dry_run = false;

  Duration timeout = std::chrono::seconds{30};
};

struct Response {
  Json body = {};
  std::vector<std::string> warnings = {};  // Warning headers
};

enum class WatchEventType { Added, Modified, Deleted, Bookmark };
struct WatchEvent {
  WatchEventType type = WatchEventType::Added;
  Json object = {};
};

struct WatchRequest {
  Resource resource = {};
  std::string namespace_ = {};
  std::string label_selector = {};
  std::string field_selector = {};
  std::string resource_version = {};
  bool bookmarks = true;
  /// The server is asked to end the stream after this long; the client picks it with jitter.
  Duration timeout = std::chrono::minutes{5};
};

/// An HTTP exchange as it is: discovery, /version, and the proxy subresources.
struct RawRequest {
  std::string method = "GET";
  std::string path = {};  // with query, from the server's root: /version
  std::map<std::string, std::string> headers = {};
  std::string body = {};
  Duration timeout = std::chrono::seconds{30};
  std::size_t max_bytes = 16 << 20;
};
struct RawResponse {
  int status = 0;
  std::map<std::string, std::string> headers = {};  // names in lower case
  std::string body = {};
};

class Api {
 public:
  using WatchSink = std::function<void(WatchEvent)>;

  virtual ~Api() = default;

  virtual Task<Result<Response>> call(Request request) = 0;
  /// Hands events to `sink` (on the loop's thread) until the stream ends. A value: the server ended
  /// it in good order, or `stop` was requested. Expired: list again.
  virtual Task<Result<void>> watch(WatchRequest request, WatchSink sink, std::stop_token stop) = 0;
  virtual Task<Result<RawResponse>> raw(RawRequest request) = 0;

  Task<Result<Json>> get(Resource resource, ObjectKey key);
  /// One page; metadata.continue and metadata.resourceVersion are in the body.
  Task<Result<Json>> list(Resource resource, std::string namespace_,
                          std::string label_selector = {});
  Task<Result<Json>> create(Resource resource, Json object);
  Task<Result<Json>> update(Resource resource, Json object, std::string subresource = {});
  Task<Result<Json>> patch(Resource resource, ObjectKey key, PatchType type, Json patch,
                           std::string subresource = {});
  /// Only the object with this uid, when one is given.
  Task<Result<Json>> remove(Resource resource, ObjectKey key, std::string uid = {});
};

/// A Status object's error, and an error's Status object: shared by the client and the embedded
/// server. Source: Kubernetes API conventions, "Response Status Kind".
Error error_from_status(int http_status, const Json& status);
Json status_from_error(const Error& error, const Resource& resource, std::string_view name);
int http_status_of(ErrorCode code);
std::string_view status_reason_of(ErrorCode code);

}  // namespace manta::kube
