#include "base/loop.h"

#include "base/async.h"

namespace manta {

Task<bool> sleep(Loop& loop, Duration delay, std::stop_token stop) {
  if (stop.stop_requested()) co_return false;
  OneShot<bool> done(loop);
  const auto timer = loop.after(delay, [done] { done.set(true); });
  std::stop_callback on_stop(stop, [done] { done.set(false); });
  const bool slept = co_await done;
  if (!slept) loop.cancel(timer);
  co_return slept;
}

}  // namespace manta
