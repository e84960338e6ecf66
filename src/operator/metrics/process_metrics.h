// What this process uses, as Prometheus' clients for every language name it.
#pragma once

#include "operator/metrics/page.h"

namespace manta::operator_ {

void write_process_metrics(MetricsPage& page);

}  // namespace manta::operator_
