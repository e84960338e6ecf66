// What query parameters and DeleteOptions ask of a verb.
#pragma once

#include "base/time.h"
#include "local/apiserver/http_request.h"
#include "local/pod_backend.h"

namespace manta::local {

/// Selectors, versions, paging, field manager, dry run: into `request`.
Result<void> read_options(const HttpRequest& http, const QueryMap& query, kube::Request& request);

/// `body` is DeleteOptions, or null; it outranks the query.
/// What a list or a watch may ask for at once. Source: apimachinery, ValidateListOptions.
Result<void> check_list_options(const QueryMap& query, bool watching);
Result<void> read_delete_options(const Json& body, const QueryMap& query, kube::Request& request);

Result<LogOptions> read_log_options(const QueryMap& query, Time now);

}  // namespace manta::local
