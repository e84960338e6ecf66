// The single-machine tool. The same executable is the helper process inside each Pod.
#include "cli/app.h"
#include "local/node/helper_spec.h"

int main(int argc, char** argv) {
  if (manta::local::is_helper_call(argc, argv)) return manta::local::helper_main(argc, argv);
  return manta::cli::run_app(argc, argv);
}
