// One HTTP/1.1 connection: one exchange at a time. Internal to the HTTP client.
#pragma once

#include "kube/http_connection.h"
#include "kube/http_transport.h"

namespace manta::kube::http {

std::shared_ptr<Connection> make_http1_connection(Loop& loop, std::shared_ptr<Transport> transport,
                                                  Duration tick, OnChange on_change);

}  // namespace manta::kube::http
