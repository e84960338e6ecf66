// One HTTP/2 connection with many streams, on nghttp2. Internal to the HTTP client.
#pragma once

#include "kube/http_connection.h"
#include "kube/http_transport.h"

namespace manta::kube::http {

std::shared_ptr<Connection> make_http2_connection(Loop& loop, std::shared_ptr<Transport> transport,
                                                  Duration tick, OnChange on_change);

}  // namespace manta::kube::http
